// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The waiting and running requests of a conductor: which one is admitted next, and which one is
// preempted. Older requests come first and are never preempted for younger ones, so that the oldest
// one always finishes. Must not know routes.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/function_ref.h"
#include "conduct/live_request.h"

namespace aster::conduct {

// Belongs to one thread. Requests stay where they are in memory until they are removed.
class RequestQueue {
 public:
  using Requests = std::vector<std::unique_ptr<LiveRequest>>;

  explicit RequestQueue(size_t max_running) : max_running_(max_running) {}

  // The request waits, behind all others.
  void Add(std::unique_ptr<LiveRequest> live);
  // Makes the oldest waiting request run. Null if none waits, if the most that may run do, or if a
  // request was preempted and none has ended since (it would need the same memory again).
  LiveRequest* Admit();
  // The running request waits from now on.
  void Preempt(LiveRequest& live);
  // All running requests wait from now on, as their route broke.
  void SuspendAll();
  // The request has ended.
  std::unique_ptr<LiveRequest> Remove(LiveRequest& live);
  // Removes all waiting requests, as none of them can be answered.
  Requests RemoveWaiting();

  bool empty() const { return waiting_.empty() && running_.empty(); }
  // The oldest first.
  const Requests& waiting() const { return waiting_; }
  const Requests& running() const { return running_; }

  // The first request for which `is_it` is true, running ones before waiting ones; or null.
  LiveRequest* Find(FunctionRef<bool(const LiveRequest&)> is_it) const;
  // The request whose sequence has this memory; or null.
  LiveRequest* FindByMemory(const RouteMemory* memory) const;

 private:
  const size_t max_running_;
  Requests waiting_;
  Requests running_;
  bool is_tight_ = false;  // a request was preempted, and none has ended since
};

}  // namespace aster::conduct
