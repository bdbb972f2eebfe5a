// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Decides when another plan replaces the running one, so that a server uses machines that join,
// avoids failed ones and gives slow ones less work, without oscillating. Must not know the contents
// of plans, nor nodes.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.h"

namespace aster::plan {

struct RebalancingOptions {
  double least_gain = 0.15;              // as a part of the plan's time
  int64_t settle_ns = 2 * kNsPerSecond;  // for how long the gain must have lasted
  // The pause between two changes. A change to an earlier plan doubles it, up to the longest; after
  // twice the longest pause without any change it is the shortest again.
  int64_t rest_ns = 20 * kNsPerSecond;
  int64_t longest_rest_ns = 640 * kNsPerSecond;
  // Running requests wait for a change, so its time must be gained back within this time.
  int64_t horizon_ns = 60 * kNsPerSecond;
};

// Belongs to one thread. The same observations give the same decisions.
class Rebalancing {
 public:
  explicit Rebalancing(const RebalancingOptions& options = {}) : options_(options) {}

  struct Offer {
    std::string current;   // the running plan as text
    std::string best;      // the plan that the planner would make now
    double current_s = 0;  // times of both for the same work; infinite: it cannot do the work
    double best_s = 0;
    bool is_busy = false;   // requests run
    int64_t change_ns = 0;  // time of a change, by the last one
  };
  // Returns whether the best plan takes over now; the caller must carry that out.
  bool Observe(int64_t now_ns, const Offer& offer);
  // When the next change may be made.
  int64_t may_change_ns() const { return may_change_ns_; }

 private:
  struct Past {
    std::string plan;
    int64_t at_ns = 0;
  };

  const RebalancingOptions options_;
  std::optional<int64_t> better_since_ns_;
  int64_t may_change_ns_ = 0;
  int64_t rest_ns_ = 0;
  std::deque<Past> past_;  // plans of earlier changes, the newest first
};

}  // namespace aster::plan
