// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "rpc/acceptor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "rpc/input_limit.h"

namespace aster::rpc {
namespace {

// How long accepting pauses when the system has no descriptors left: connections wait meanwhile.
constexpr int64_t kPauseNs = 100 * kNsPerMs;
// How often the loop wakes up without an event.
constexpr int64_t kIdleNs = 60 * kNsPerSecond;
// How often it checks the received bytes of unauthenticated connections.
constexpr int64_t kLookNs = 10 * kNsPerMs;
constexpr size_t kAtOnceBytes = 64 << 20;

constexpr std::array<uint8_t, 12> kMappedV4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

std::array<uint8_t, 16> FromV4(const in_addr& address) {
  std::array<uint8_t, 16> host{};
  std::ranges::copy(kMappedV4, host.begin());
  std::memcpy(host.data() + kMappedV4.size(), &address, sizeof(address));
  return host;
}

// "%5B" is '['.
std::string WithoutPercents(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned int value = 0;
    const bool is_escape =
        text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr ==
            text.data() + i + 3;
    plain += is_escape ? static_cast<char>(value) : text[i];
    if (is_escape) i += 2;
  }
  return plain;
}

void EndConnection(const net::Socket& socket) { shutdown(socket.descriptor(), SHUT_RDWR); }

uint64_t ReceivedBytes(const net::Socket& socket) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  // An older kernel fills in less, and the rest stays 0.
  getsockopt(socket.descriptor(), IPPROTO_TCP, TCP_INFO, &info, &size);
  return info.tcpi_bytes_received;
}

}  // namespace

RemotePeer RemotePeer::Of(const net::Endpoint& endpoint) {
  RemotePeer peer{.host = {}, .port = endpoint.port()};
  if (endpoint.address.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &endpoint.address, sizeof(v4));
    peer.host = FromV4(v4.sin_addr);
  } else {
    sockaddr_in6 v6;
    std::memcpy(&v6, &endpoint.address, sizeof(v6));
    std::memcpy(peer.host.data(), &v6.sin6_addr, peer.host.size());
  }
  return peer;
}

std::optional<RemotePeer> RemotePeer::FromText(std::string_view text) {
  const bool is_v4 = text.starts_with("ipv4:");
  if (!is_v4 && !text.starts_with("ipv6:")) return std::nullopt;
  const auto parsed = net::ParseHostPort(WithoutPercents(text.substr(sizeof("ipv4:") - 1)));
  if (!parsed.ok()) return std::nullopt;
  RemotePeer peer;
  const std::string& port = parsed->port;
  std::from_chars(port.data(), port.data() + port.size(), peer.port);
  // A link-local address without its interface.
  const std::string host = parsed->host.substr(0, parsed->host.find('%'));
  in_addr v4;
  if (inet_pton(AF_INET6, host.c_str(), peer.host.data()) == 1) return peer;
  if (!is_v4 || inet_pton(AF_INET, host.c_str(), &v4) != 1) return std::nullopt;
  peer.host = FromV4(v4);
  return peer;
}

Result<net::Endpoint> Acceptor::Listen(const net::Endpoint& endpoint) {
  listeners_.push_back(TRY(net::Listen(endpoint)));
  KeepStarts(listeners_.back());
  return net::LocalEndpoint(listeners_.back());
}

Status Acceptor::Start(Take take) {
  take_ = std::move(take);
  try {
    thread_ = std::thread([this] { Main(); });
  } catch (const std::system_error& error) {
    return ResourceExhausted(std::string("no thread to take connections: ") + error.what());
  }
  return Ok();
}

void Acceptor::Stop() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mu_);
    stopping_ = true;
  }
  waker_.Wake();
  thread_.join();
}

void Acceptor::Admit(const RemotePeer& peer) {
  const MutexLock lock(mu_);
  for (Watched& each : watched_) {
    if (each.is_admitted || each.peer != peer) continue;
    each.is_admitted = true;
    EndInputLimit(each.socket);
  }
}

void Acceptor::Main() {
  for (;;) {
    const int64_t now_ns = clock_.NowNs();
    EndExpired(now_ns);
    EndFlooding();
    std::vector<pollfd> polled = {{.fd = waker_.descriptor(), .events = POLLIN, .revents = 0}};
    if (now_ns >= paused_until_ns_) {
      for (const net::Socket& each : listeners_)
        polled.push_back({.fd = each.descriptor(), .events = POLLIN, .revents = 0});
    }
    const size_t listener_end = polled.size();
    {
      // Only this thread closes them.
      const MutexLock lock(mu_);
      if (stopping_) return;
      for (const Watched& each : watched_)
        polled.push_back({.fd = each.socket.descriptor(), .events = 0, .revents = 0});
    }
    const int64_t wait_ms = (Wait(now_ns) + kNsPerMs - 1) / kNsPerMs;
    if (poll(polled.data(), polled.size(), static_cast<int>(wait_ms)) <= 0) continue;
    waker_.Reset();
    {
      const MutexLock lock(mu_);
      ForgetEnded();
    }
    for (size_t i = 1; i < listener_end; ++i) {
      if (polled[i].revents != 0) AcceptAll(listeners_[i - 1]);
    }
  }
}

int64_t Acceptor::Wait(int64_t now_ns) {
  int64_t until_ns = now_ns + kIdleNs;
  if (paused_until_ns_ > now_ns) until_ns = paused_until_ns_;
  const MutexLock lock(mu_);
  if (!watched_.empty()) until_ns = std::min(until_ns, watched_.front().deadline_ns);
  if (Unauthenticated() > 0) until_ns = std::min(until_ns, now_ns + kLookNs);
  return std::max<int64_t>(0, until_ns - now_ns);
}

void Acceptor::AcceptAll(const net::Socket& listener) {
  // At most as many as may stay: existing ones are checked in between.
  for (size_t i = 0; i < options_.max_unauthenticated; ++i) {
    bool is_last = false;
    if (const Status taken = AcceptOne(listener, is_last); !taken.ok()) return Pause(taken.error());
    if (is_last) return;
    if (std::exchange(is_short_, false)) log::Info("the control plane takes connections again");
  }
}

Status Acceptor::AcceptOne(const net::Socket& listener, bool& is_last) {
  net::Socket socket = TRY(net::Accept(listener));
  is_last = !socket.is_open();
  if (is_last) return Ok();
  const auto remote = net::RemoteEndpoint(socket);
  if (!remote.ok()) return Ok();  // already closed
  const int given = fcntl(socket.descriptor(), F_DUPFD_CLOEXEC, 0);
  if (given < 0) return SystemError(errno, "a second descriptor of a connection");
  // Where the system cannot, only EndFlooding ends it, which may be late on a busy machine.
  LimitInput(socket, options_.max_bytes);
  {
    const MutexLock lock(mu_);
    MakeRoom();
    watched_.push_back({.socket = std::move(socket),
                        .peer = RemotePeer::Of(*remote),
                        .deadline_ns = clock_.NowNs() + options_.patience_ns});
  }
  take_(listener.descriptor(), given);
  return Ok();
}

// Closing unauthenticated connections frees descriptors.
void Acceptor::Pause(const Error& why) {
  if (!std::exchange(is_short_, true))
    log::Warn("the control plane cannot take a connection; retrying", {{"why", why.message()}});
  paused_until_ns_ = clock_.NowNs() + kPauseNs;
  const MutexLock lock(mu_);
  EndOne();
}

void Acceptor::EndExpired(int64_t now_ns) {
  const MutexLock lock(mu_);
  while (!watched_.empty() && watched_.front().deadline_ns <= now_ns) {
    if (!watched_.front().is_admitted) EndConnection(watched_.front().socket);
    watched_.pop_front();
  }
}

// gRPC's parser of headers buffers its input, even a header without an end.
void Acceptor::EndFlooding() {
  const MutexLock lock(mu_);
  std::erase_if(watched_, [&](const Watched& each) {
    const bool ends = !each.is_admitted && ReceivedBytes(each.socket) > options_.max_bytes;
    if (!ends) return false;
    // Resets the connection at once, whatever the other end still sends.
    const linger reset{.l_onoff = 1, .l_linger = 0};
    setsockopt(each.socket.descriptor(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    EndConnection(each.socket);
    // Discards waiting input, so that it is not parsed either.
    while (recv(each.socket.descriptor(), nullptr, kAtOnceBytes, MSG_TRUNC | MSG_DONTWAIT) > 0) {
    }
    return true;
  });
}

// Removes connections that were shut down, as a poll for no events shows.
void Acceptor::ForgetEnded() {
  std::vector<pollfd> polled;
  for (const Watched& each : watched_)
    polled.push_back({.fd = each.socket.descriptor(), .events = 0, .revents = 0});
  if (poll(polled.data(), polled.size(), 0) <= 0) return;
  size_t index = 0;
  std::erase_if(watched_, [&](const Watched&) { return polled[index++].revents != 0; });
}

size_t Acceptor::Unauthenticated() const {
  return static_cast<size_t>(std::ranges::count(watched_, false, &Watched::is_admitted));
}

bool Acceptor::IsFull() const { return Unauthenticated() >= options_.max_unauthenticated; }

void Acceptor::MakeRoom() {
  // A connection that has just ended must not cost another one its place.
  if (IsFull()) ForgetEnded();
  while (IsFull()) EndOne();
}

// Ends the oldest unauthenticated connection of the machine with the most of them: a flood from one
// machine keeps no other out.
void Acceptor::EndOne() {
  auto chosen = watched_.end();
  ptrdiff_t most = 0;
  for (auto each = watched_.begin(); each != watched_.end(); ++each) {
    if (each->is_admitted) continue;
    const ptrdiff_t count = std::ranges::count_if(watched_, [&](const Watched& other) {
      return !other.is_admitted && other.peer.host == each->peer.host;
    });
    if (count <= most) continue;
    most = count;
    chosen = each;
  }
  if (chosen == watched_.end()) return;
  EndConnection(chosen->socket);
  watched_.erase(chosen);
}

}  // namespace aster::rpc
