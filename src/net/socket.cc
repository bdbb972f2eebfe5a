// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace aster::net {
namespace {

Error SocketError(int error_number, std::string_view what) {
  // Whatever the reason, it may work another time.
  return {Code::kUnavailable, SystemError(error_number, what).message()};
}

Status SetOption(const Socket& socket, int level, int option, int value) {
  if (setsockopt(socket.descriptor(), level, option, &value, sizeof(value)) == 0) return Ok();
  return SocketError(errno, "setting an option of a socket");
}

Result<Endpoint> Named(const Socket& socket, int (*ask)(int, sockaddr*, socklen_t*)) {
  Endpoint endpoint;
  endpoint.size = sizeof(endpoint.address);
  if (ask(socket.descriptor(), reinterpret_cast<sockaddr*>(&endpoint.address), &endpoint.size) !=
      0) {
    return SocketError(errno, "asking a socket for its address");
  }
  return endpoint;
}

Result<std::vector<Endpoint>> Lookup(const HostPort& host_port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(host_port.host.c_str(), host_port.port.c_str(), &hints, &found);
  if (failure != 0) {
    return Error(Code::kUnavailable, fmt::format("{}: {}", host_port.host, gai_strerror(failure)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  std::vector<Endpoint> endpoints;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    Endpoint endpoint;
    if (entry->ai_addrlen > sizeof(endpoint.address)) continue;
    std::memcpy(&endpoint.address, entry->ai_addr, entry->ai_addrlen);
    endpoint.size = entry->ai_addrlen;
    endpoints.push_back(endpoint);
  }
  if (endpoints.empty()) {
    return Error(Code::kUnavailable, fmt::format("{}: no address", host_port.host));
  }
  return endpoints;
}

}  // namespace

bool Endpoint::is_loopback() const {
  if (address.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &address, sizeof(v4));
    return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
  }
  if (address.ss_family != AF_INET6) return false;
  sockaddr_in6 v6;
  std::memcpy(&v6, &address, sizeof(v6));
  // 127.x.x.x in the form of a socket for both families.
  return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) ||
         (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) && v6.sin6_addr.s6_addr[12] == 127);
}

uint16_t Endpoint::port() const {
  if (address.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &address, sizeof(v4));
    return ntohs(v4.sin_port);
  }
  sockaddr_in6 v6;
  std::memcpy(&v6, &address, sizeof(v6));
  return ntohs(v6.sin6_port);
}

std::string Endpoint::host() const {
  char host[NI_MAXHOST];
  const int failed = getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host,
                                 sizeof(host), nullptr, 0, NI_NUMERICHOST);
  return failed != 0 ? "" : host;
}

std::string Endpoint::ToText() const {
  const std::string number = host();
  if (number.empty()) return "an unknown address";
  return address.ss_family == AF_INET6 ? fmt::format("[{}]:{}", number, port())
                                       : fmt::format("{}:{}", number, port());
}

Result<HostPort> ParseHostPort(std::string_view text) {
  const auto refusal = [&] {
    return InvalidArgument(
        fmt::format("'{}' is not HOST:PORT, for example 192.168.0.7:7777 or "
                    "[::1]:7777",
                    text));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.size() > 255) return refusal();
  HostPort result{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
  if (result.host.starts_with('[') && result.host.ends_with(']')) {
    result.host = result.host.substr(1, result.host.size() - 2);
  } else if (result.host.find(':') != std::string::npos) {
    return refusal();
  }
  const bool is_number = !result.port.empty() && result.port.size() <= 5 &&
                         std::all_of(result.port.begin(), result.port.end(),
                                     [](char c) { return c >= '0' && c <= '9'; });
  if (result.host.empty() || !is_number ||
      (result.port.size() == 5 && result.port > std::string("65535"))) {
    return refusal();
  }
  return result;
}

bool HostPort::is_numeric() const { return Lookup(*this, AI_NUMERICHOST).ok(); }

Result<std::vector<Endpoint>> Resolve(const HostPort& host_port) { return Lookup(host_port, 0); }

Socket::~Socket() {
  if (is_open()) close(descriptor_);
}

Result<Socket> Listen(const Endpoint& endpoint) {
  Socket socket(
      ::socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const std::string where = endpoint.ToText();
  if (!socket.is_open()) return SocketError(errno, where);
  TRY(SetOption(socket, SOL_SOCKET, SO_REUSEADDR, 1));
  // Both families on one port are two sockets: an IPv6 one must not also take IPv4.
  if (endpoint.address.ss_family == AF_INET6) {
    TRY(SetOption(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1));
  }
  if (bind(socket.descriptor(), reinterpret_cast<const sockaddr*>(&endpoint.address),
           endpoint.size) != 0) {
    if (errno == EADDRINUSE) {
      return Error(Code::kAlreadyExists,
                   fmt::format("{}: another program listens there: choose another port", where));
    }
    return SocketError(errno, fmt::format("{}: cannot listen there", where));
  }
  if (listen(socket.descriptor(), 128) != 0) return SocketError(errno, where);
  return socket;
}

Result<Endpoint> LocalEndpoint(const Socket& socket) { return Named(socket, getsockname); }
Result<Endpoint> RemoteEndpoint(const Socket& socket) { return Named(socket, getpeername); }

Result<Socket> Accept(const Socket& listener) {
  Socket socket(accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.is_open()) {
    TRY(SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1));
    return socket;
  }
  // Connections that were given up while they waited are no error.
  if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return socket;
  return SocketError(errno, "taking a connection");
}

Result<Socket> BeginConnect(const Endpoint& endpoint) {
  Socket socket(
      ::socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return SocketError(errno, "making a socket");
  TRY(SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1));
  if (connect(socket.descriptor(), reinterpret_cast<const sockaddr*>(&endpoint.address),
              endpoint.size) != 0 &&
      errno != EINPROGRESS) {
    return SocketError(errno, "connecting");
  }
  return socket;
}

Status FinishConnect(int descriptor) {
  int failure = 0;
  socklen_t size = sizeof(failure);
  if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) failure = errno;
  if (failure == 0) return Ok();
  if (failure == ECONNREFUSED) {
    return Error(Code::kUnavailable, "no program listens there: is the node running?");
  }
  return SocketError(failure, "connecting");
}

}  // namespace aster::net
