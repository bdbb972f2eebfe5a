// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Events that have arrived and wait for the consumer. Taking a message gives its sender credit.
// Must not know connections.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/mutex.h"
#include "net/network.h"

namespace aster::net {

// Bytes of one connection's messages that the consumer has taken, not sent as credit yet.
struct Consumed {
  std::atomic<uint64_t> bytes = 0;
};

// Safe for concurrent use; one thread takes events.
class EventQueue {
 public:
  explicit EventQueue(Clock& clock) : clock_(clock) {}

  // When the event is taken, adds `cost` to `consumed`, unless that is null.
  void Push(Event event, uint64_t cost, std::shared_ptr<Consumed> consumed) EXCLUDES(mu_);

  struct Taken {
    Event event;
    uint64_t consumed_bytes = 0;  // of its connection, not sent as credit yet
  };
  std::optional<Taken> Take(int64_t deadline_ns) EXCLUDES(mu_);

  // The cost of waiting messages.
  uint64_t waiting_cost() const { return waiting_cost_.load(std::memory_order_relaxed); }

 private:
  struct Waiting {
    Event event;
    uint64_t cost = 0;
    std::shared_ptr<Consumed> consumed;
  };

  Clock& clock_;
  std::atomic<uint64_t> waiting_cost_ = 0;
  Mutex mu_;
  CondVar arrived_;
  std::deque<Waiting> waiting_ GUARDED_BY(mu_);
};

}  // namespace aster::net
