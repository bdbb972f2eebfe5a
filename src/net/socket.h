// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Addresses and TCP sockets that never block, in IPv4 and IPv6. Must not know what is sent.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace aster::net {

// One address of a machine, with a port.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t size = 0;

  bool is_loopback() const;
  uint16_t port() const;
  // "192.168.0.7", "fe80::1".
  std::string host() const;
  // "192.168.0.7:7777", "[fe80::1]:7777".
  std::string ToText() const;
};

// "example:7777", "192.168.0.7:7777", "[::1]:7777"; when listening, port 0 means any.
struct HostPort {
  std::string host;
  std::string port;  // digits

  bool is_numeric() const;  // needs no name server
};
Result<HostPort> ParseHostPort(std::string_view text);
// May ask name servers and take long, unless is_numeric().
Result<std::vector<Endpoint>> Resolve(const HostPort& host_port);

// Owns a descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

Result<Socket> Listen(const Endpoint& endpoint);
// The local address of a socket, and that of its peer.
Result<Endpoint> LocalEndpoint(const Socket& socket);
Result<Endpoint> RemoteEndpoint(const Socket& socket);
// The next connection, or a closed socket if none waits.
Result<Socket> Accept(const Socket& listener);
// Begins to connect; once the socket is writable, FinishConnect returns the result.
Result<Socket> BeginConnect(const Endpoint& endpoint);
Status FinishConnect(int descriptor);

}  // namespace aster::net
