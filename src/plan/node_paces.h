// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Finds slow nodes: the share of its measured rates that each node reaches at the moment, by
// comparing its times on routes with the predicted ones. Must not know routes, nor where the times
// come from.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "base/clock.h"
#include "wire/messages.h"

namespace aster::plan {

// A pure function of its input. Not for concurrent use.
class NodePaces {
 public:
  // The pace of one node on the open route.
  struct Seen {
    wire::NodeId node;
    uint32_t kind = 0;  // of work: only times of the same kind are compared
    double ratio = 0;   // its time divided by the one predicted from its measured rates
  };

  // Takes the present paces of all nodes of the route. If all take longer, as with longer texts, no
  // node is slow; small changes are ignored.
  void Observe(std::span<const Seen> all, int64_t now_ns);

  // The share of a node, from 0 to 1. A slow node that is on no route any more is tried again after
  // a while, which grows each time it is found slow.
  double Of(const wire::NodeId& node, int64_t now_ns) const;

 private:
  struct Pace {
    double now = 1;
    int64_t seen_ns = 0;      // when it was last seen
    uint32_t found_slow = 0;  // number of times
  };
  static bool IsForgotten(const Pace& pace, int64_t now_ns);
  void Follow(Pace& pace, double now, int64_t now_ns);

  std::map<wire::NodeId, Pace> paces_;
  std::map<std::pair<wire::NodeId, uint32_t>, double> best_;  // ratios, by kind of work
};

}  // namespace aster::plan
