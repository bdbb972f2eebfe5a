// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The plan of a conductor's route: another one after each failure, after growing pauses, and none
// after too many failures in a row. Must not know routes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "plan/plan.h"

namespace aster::conduct {

// Makes another plan for a route that broke, given the nodes that were lost; or returns an error
// that says what is missing. May return the same plan if nodes are expected back.
using Replanner = std::function<Result<plan::Plan>(
    const plan::Plan& broken, std::span<const wire::NodeId> lost, const Error& why)>;

class Replanning {
 public:
  struct Options {
    uint32_t max_failures = 8;  // in a row
    int64_t wait_ns = 0;  // before the route after the second failure, twice that after the next
  };

  // The replanner may be null: then no plan replaces a failed one.
  Replanning(plan::Plan plan, uint32_t layer_count, Replanner replanner, const Options& options);

  const plan::Plan& plan() const { return plan_; }
  uint64_t count() const { return count_; }  // how often a plan was replaced
  // When the next route may be opened.
  int64_t open_at_ns() const { return open_at_ns_; }

  // The route broke: if the one before broke as well, the next one opens only after a pause.
  void OnBroken(int64_t now_ns);
  // Takes another plan; an error if there is none.
  Status Replace(std::span<const wire::NodeId> lost, const Error& why);
  // Likewise, and counts a failure; after too many in a row it returns `why`.
  Status ReplaceFailed(std::span<const wire::NodeId> lost, const Error& why);
  // Something was computed, or no request is left: earlier failures do not count any more.
  void ForgetFailures() { failures_ = 0; }

 private:
  plan::Plan plan_;
  const uint32_t layer_count_;
  const Replanner replanner_;
  const Options options_;
  uint32_t failures_ = 0;  // in a row
  uint64_t count_ = 0;
  int64_t open_at_ns_ = 0;
};

}  // namespace aster::conduct
