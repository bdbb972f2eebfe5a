// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/event_queue.h"

#include <utility>

namespace aster::net {

void EventQueue::Push(Event event, uint64_t cost, std::shared_ptr<Consumed> consumed) {
  waiting_cost_.fetch_add(cost, std::memory_order_relaxed);
  event.arrived_ns = clock_.NowNs();
  MutexLock lock(mu_);
  waiting_.push_back({std::move(event), cost, std::move(consumed)});
  arrived_.NotifyOne();
}

std::optional<EventQueue::Taken> EventQueue::Take(int64_t deadline_ns) {
  MutexLock lock(mu_);
  while (waiting_.empty()) {
    if (clock_.NowNs() >= deadline_ns) return std::nullopt;
    clock_.WaitUntil(arrived_, mu_, deadline_ns);
  }
  Waiting first = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_cost_.fetch_sub(first.cost, std::memory_order_relaxed);
  Taken taken{std::move(first.event), 0};
  if (first.consumed) taken.consumed_bytes = first.consumed->bytes += first.cost;
  return taken;
}

}  // namespace aster::net
