// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The control plane's listeners: accepts connections, and bounds unauthenticated ones (without a
// call with a certificate of the cluster so far) before gRPC holds them. Must not know gRPC,
// certificates or calls.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "net/socket.h"
#include "net/waker.h"

namespace aster::rpc {

struct AcceptorOptions {
  size_t max_unauthenticated = 32;
  int64_t patience_ns = 5 * kNsPerSecond;  // how long a connection may be unauthenticated
  uint32_t max_bytes = 512 << 10;          // received meanwhile: twice the largest request
};

// The other end of a connection. IPv4 addresses are written as IPv6 ones.
struct RemotePeer {
  std::array<uint8_t, 16> host{};
  uint16_t port = 0;

  // "ipv4:192.168.0.7:7777", "ipv6:%5Bfe80::1%25eth0%5D:7777", as gRPC writes it.
  static std::optional<RemotePeer> FromText(std::string_view text);
  static RemotePeer Of(const net::Endpoint& endpoint);

  bool operator==(const RemotePeer&) const = default;
};

// Admit may be called by any thread, everything else by one.
class Acceptor {
 public:
  // Gets a connection to own, and its listener; on the acceptor's thread.
  using Take = std::function<void(int listener, int connection)>;

  explicit Acceptor(AcceptorOptions options = {}) : options_(options) {}
  ~Acceptor() { Stop(); }
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Returns the address that it listens on, also for port 0.
  Result<net::Endpoint> Listen(const net::Endpoint& endpoint);
  // Call it after the last Listen. Waiting connections are accepted from now on.
  Status Start(Take take);
  // No connection is accepted afterwards.
  void Stop();

  // Connections from there belong to a node, and are not bounded any longer.
  void Admit(const RemotePeer& peer) EXCLUDES(mu_);

 private:
  // A second descriptor of a connection that was passed on: its owner closes it by shutting it
  // down, and so does the acceptor.
  struct Watched {
    net::Socket socket;
    RemotePeer peer;
    int64_t deadline_ns = 0;
    bool is_admitted = false;
  };

  void Main();
  int64_t Wait(int64_t now_ns) EXCLUDES(mu_);
  void AcceptAll(const net::Socket& listener);
  Status AcceptOne(const net::Socket& listener, bool& is_last) EXCLUDES(mu_);
  void Pause(const Error& why);
  void EndExpired(int64_t now_ns) EXCLUDES(mu_);
  void EndFlooding() EXCLUDES(mu_);
  void ForgetEnded() REQUIRES(mu_);
  size_t Unauthenticated() const REQUIRES(mu_);
  bool IsFull() const REQUIRES(mu_);
  void MakeRoom() REQUIRES(mu_);
  void EndOne() REQUIRES(mu_);

  const AcceptorOptions options_;
  const SystemClock clock_;
  std::vector<net::Socket> listeners_;
  Take take_;
  net::Waker waker_;
  std::thread thread_;
  // Used by the thread.
  int64_t paused_until_ns_ = 0;
  bool is_short_ = false;  // the last attempt to accept a connection failed
  Mutex mu_;
  std::list<Watched> watched_ GUARDED_BY(mu_);  // the oldest first
  bool stopping_ GUARDED_BY(mu_) = false;
};

}  // namespace aster::rpc
