// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How much of its measured rates each node has at the moment, from what it takes for its work on
// routes, beside what it was expected to take. Must not know routes, nor where the times come from.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "base/clock.h"
#include "wire/messages.h"

namespace aster::plan {

// A pure function of what it was told. Not for concurrent use.
class NodePaces {
 public:
  // Of one node on the route that is open.
  struct Seen {
    wire::NodeId node;
    uint32_t kind = 0;  // of work: only times of the same kind are compared
    double ratio = 0;   // of its time to the one that was expected by its measured rates
  };

  // What is seen at this moment, of all nodes of the route. What all take longer, as texts become
  // longer, is no node's; and small changes, as machines have them, are none.
  void Observe(std::span<const Seen> all, int64_t now_ns);

  // From 0 to 1. A node that was slow and is not seen any more is tried again after a while, later
  // each time it is found slow.
  double Of(const wire::NodeId& node, int64_t now_ns) const;

 private:
  struct Pace {
    double now = 1;
    int64_t seen_ns = 0;      // when it was seen last
    uint32_t found_slow = 0;  // times
  };
  static bool IsForgotten(const Pace& pace, int64_t now_ns);
  void Follow(Pace& pace, double now, int64_t now_ns);

  std::map<wire::NodeId, Pace> paces_;
  std::map<std::pair<wire::NodeId, uint32_t>, double> best_;  // ratios, by kind of work
};

}  // namespace aster::plan
