// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Limits each peer's calls in flight, so that none takes all the threads. Must not know what is
// called.
#pragma once

#include <map>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"
#include "rpc/control_service.h"
#include "rpc/limits.h"

namespace aster::rpc {

// Safe for concurrent use.
class CallSlots {
 public:
  // A call in flight.
  class Slot {
   public:
    Slot(CallSlots& slots, const NodeId& node) : slots_(&slots), node_(node) {}
    Slot(Slot&& other) noexcept
        : slots_(std::exchange(other.slots_, nullptr)), node_(other.node_) {}
    ~Slot() {
      if (slots_ != nullptr) slots_->GiveBack(node_);
    }

   private:
    CallSlots* slots_;
    NodeId node_;
  };

  // All unauthenticated callers share one id, the empty one.
  Result<Slot> Take(const NodeId& node) EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    const bool is_unauthenticated = node == NodeId();
    const int limit = is_unauthenticated ? kMaxUnauthenticatedCalls : kMaxCallsPerNode;
    int& calls = calls_[node];
    if (calls < limit) {
      ++calls;
      return Slot(*this, node);
    }
    return ResourceExhausted(is_unauthenticated
                                 ? "too many machines join at this moment; try again"
                                 : "this node has too many calls in flight; try again");
  }

 private:
  void GiveBack(const NodeId& node) EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    const auto found = calls_.find(node);
    if (--found->second == 0) calls_.erase(found);
  }

  Mutex mu_;
  std::map<NodeId, int> calls_ GUARDED_BY(mu_);
};

}  // namespace aster::rpc
