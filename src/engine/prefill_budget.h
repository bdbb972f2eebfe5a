// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How many tokens of prompts a step computes (chunked prefill): the maximum, or fewer if a step
// takes so long that progress and cancelled requests would have to wait. It begins with few, as the
// time of the first step is not known, and then grows as far as the time allows. If fewer tokens
// hardly shorten a step, as when weights are read from a disk, it returns to the maximum. Must not
// know what a step computes.
#pragma once

#include <cstdint>
#include <optional>

namespace aster::engine {

class PrefillBudget {
 public:
  // `longest_ns`: the longest time of a step; 0: the budget never changes.
  PrefillBudget(uint32_t most_tokens, int64_t longest_ns);

  // For the next step.
  uint32_t tokens() const { return most_ >> halvings_; }
  // A step with `tokens` tokens of prompts has taken `step_ns`.
  void Note(uint32_t tokens, int64_t step_ns);

 private:
  // A step with another budget that was not measured yet.
  struct Trial {
    uint32_t halvings;    // before it
    double ns_per_token;  // before it
  };

  bool GrowsFirst(double ns_per_token);
  void Adapt(double ns_per_token);
  bool IsFailed(const Trial& trial, double ns_per_token) const;
  double TimeOf(uint32_t halvings, double ns_per_token) const;

  const uint32_t most_;
  const int64_t longest_ns_;
  uint32_t most_halvings_;  // that are worth it, as far as is known
  uint32_t halvings_;
  bool is_growing_first_;  // until the budget is as large as the time allows
  std::optional<Trial> trial_;
  uint32_t steps_until_retry_ = 0;
};

}  // namespace aster::engine
