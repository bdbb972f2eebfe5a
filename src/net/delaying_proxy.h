// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A simulated link on loopback: forwards TCP connections with a latency and at a rate, or not at
// all. For benchmarks and tests of faults, without a real one. Must not know what is sent.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "net/socket.h"
#include "net/waker.h"

namespace aster::net {

struct LinkOptions {
  int64_t delay_ns = 0;           // one way, the same in both directions
  uint64_t rate_bytes_per_s = 0;  // per direction, for all connections together; 0: no limit
  // The end whose bytes are lost, as over a cable that is broken in one direction: 0 is the client,
  // 1 the target. A connection that has lost bytes stays mute.
  std::optional<int> mute_end = {};
};

// Safe for concurrent use.
class DelayingProxy {
 public:
  // Listens on loopback and forwards every connection to `target`, a numeric address and port.
  static Result<std::unique_ptr<DelayingProxy>> Start(const std::string& target,
                                                      const LinkOptions& link);
  ~DelayingProxy();

  const std::string& address() const { return address_; }

  void SetLink(const LinkOptions& link) EXCLUDES(mu_);
  // From now on nothing is forwarded, and neither side is notified, as if a cable was pulled out;
  // until Unplug(false).
  void Unplug(bool is_unplugged = true);
  // Breaks all connections.
  void Cut();

 private:
  // Bytes in one direction of one connection that have not arrived yet.
  struct Flow {
    struct Piece {
      int64_t due_ns = 0;
      std::vector<uint8_t> bytes;
      size_t sent = 0;
    };
    std::deque<Piece> pieces;
    uint64_t bytes = 0;
    bool has_ended = false;  // no more bytes follow
    bool is_mute = false;    // bytes are lost
    bool is_shut = false;    // the receiver has been told of the end
  };
  struct Pair {
    Socket ends[2];  // the client's, and the target's
    Flow flows[2];   // from ends[i] to ends[1 - i]
    bool is_broken = false;
  };

  DelayingProxy(Socket listener, const Endpoint& target, const LinkOptions& link);
  void Run();
  void Accept();
  void Receive(Pair& pair, int from, const LinkOptions& link);
  void Deliver(Pair& pair, int from);
  int64_t NextDue() const;

  const Socket listener_;
  const Endpoint target_;
  std::string address_;
  SystemClock clock_;
  Waker waker_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> is_unplugged_ = false;
  std::atomic<bool> is_to_be_cut_ = false;
  mutable Mutex mu_;
  LinkOptions link_ GUARDED_BY(mu_);

  // Used by the thread.
  std::list<Pair> pairs_;
  std::vector<uint8_t> received_;
  int64_t free_ns_[2] = {0, 0};  // when each direction of the link has sent its bytes

  std::thread thread_;  // last: it uses all the others
};

}  // namespace aster::net
