// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Decides when a running plan is replaced by another one, so that machines that come, go and become
// slower are followed, and nothing oscillates. Must not know plans' contents, nor nodes.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.h"

namespace aster::plan {

struct RearrangingOptions {
  double least_gain = 0.15;              // of the time that the plan takes
  int64_t settle_ns = 2 * kNsPerSecond;  // for which the gain must have been there
  // From one change to the next; it doubles where a change is to a plan that was there before, or
  // was to be, up to the longest, and is forgotten after as long without one.
  int64_t rest_ns = 20 * kNsPerSecond;
  int64_t longest_rest_ns = 640 * kNsPerSecond;
  // While requests run they wait for a change: what it takes has to be gained back in this time.
  int64_t horizon_ns = 60 * kNsPerSecond;
};

// Belongs to one thread. The same observations give the same decisions.
class Rearranging {
 public:
  explicit Rearranging(const RearrangingOptions& options = {}) : options_(options) {}

  struct Offer {
    std::string current;   // the plan that runs, as people write it
    std::string best;      // the one that the planner would take now
    double current_s = 0;  // what each takes of the same work; infinite where it cannot do it
    double best_s = 0;
    bool is_busy = false;   // requests run
    int64_t change_ns = 0;  // that a change takes, as the last one did
  };
  // Whether the best plan takes over now. It is taken that it does.
  bool Observe(int64_t now_ns, const Offer& offer);
  // When the next change may be made.
  int64_t may_change_ns() const { return may_change_ns_; }

 private:
  struct Past {
    std::string plan;
    int64_t at_ns = 0;
  };

  const RearrangingOptions options_;
  std::optional<int64_t> better_since_ns_;
  int64_t may_change_ns_ = 0;
  int64_t rest_ns_ = 0;
  std::deque<Past> past_;  // plans that gave way or took over, the newest first
};

}  // namespace aster::plan
