// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/prefill_budget.h"

#include <algorithm>
#include <utility>

namespace aster::engine {
namespace {

// Matrix products of fewer rows than this cost much more for each.
constexpr uint32_t kFewestTokens = 16;
// At once: to a quarter of the tokens, and no less before that has been measured.
constexpr uint32_t kHalvingsAtOnce = 2;
// What a token may cost more in a shorter step; other programs alone make some of that.
constexpr double kWorthIt = 1.5;
// Of the longest time, where a step with twice the tokens would still be short enough.
constexpr double kRoomToGrow = 0.75;
// Steps after which fewer tokens are tried again: other prompts, or other programs, may have been
// what made them dear.
constexpr uint32_t kStepsUntilRetry = 32;

uint32_t HalvingsDownTo(uint32_t fewest, uint32_t most) {
  uint32_t halvings = 0;
  while (most >> (halvings + 1) >= fewest) ++halvings;
  return halvings;
}

}  // namespace

PrefillBudget::PrefillBudget(uint32_t most_tokens, int64_t longest_ns)
    : most_(most_tokens),
      longest_ns_(longest_ns),
      most_halvings_(HalvingsDownTo(kFewestTokens, most_tokens)),
      halvings_(longest_ns == 0 ? 0 : most_halvings_),
      is_growing_first_(longest_ns != 0) {}

double PrefillBudget::TimeOf(uint32_t halvings, double ns_per_token) const {
  return ns_per_token * static_cast<double>(most_ >> halvings);
}

bool PrefillBudget::IsFailed(const Trial& trial, double ns_per_token) const {
  return ns_per_token > trial.ns_per_token * kWorthIt;
}

void PrefillBudget::Note(uint32_t tokens, int64_t step_ns) {
  // Steps that had much less to compute than they might say little about full ones; those with more
  // were begun before it shrank.
  const uint32_t full = this->tokens();
  const bool is_full = tokens <= full && uint64_t{tokens} * 4 >= uint64_t{full} * 3;
  if (longest_ns_ == 0 || tokens == 0 || !is_full) return;
  const double ns_per_token = static_cast<double>(step_ns) / tokens;
  if (is_growing_first_) is_growing_first_ = GrowsFirst(ns_per_token);
  if (!is_growing_first_) Adapt(ns_per_token);
}

// From the fewest tokens on. A token of a small step takes as long as one of a large step or
// longer, so that it grows at once as far as that allows. False where that has come to its end.
bool PrefillBudget::GrowsFirst(double ns_per_token) {
  const double room = static_cast<double>(longest_ns_) * kRoomToGrow;
  const uint32_t before = halvings_;
  const std::optional<Trial> trial = std::exchange(trial_, std::nullopt);
  // A step of twice the tokens took hardly longer: its time is not that of tokens.
  if (trial && trial->ns_per_token > ns_per_token * kWorthIt) halvings_ = 0;
  while (halvings_ > 0 && TimeOf(halvings_ - 1, ns_per_token) < room) --halvings_;
  if (halvings_ < before) return true;
  if (trial || halvings_ == 0) return false;
  trial_ = Trial{.halvings = halvings_--, .ns_per_token = ns_per_token};
  return true;
}

void PrefillBudget::Adapt(double ns_per_token) {
  if (steps_until_retry_ > 0 && --steps_until_retry_ == 0)
    most_halvings_ = HalvingsDownTo(kFewestTokens, most_);
  // It was shortened for little: back to what it was.
  const std::optional<Trial> trial = std::exchange(trial_, std::nullopt);
  if (trial && IsFailed(*trial, ns_per_token)) {
    halvings_ = most_halvings_ = trial->halvings;
    steps_until_retry_ = kStepsUntilRetry;
    return;
  }
  // Too long: as much shorter as that needs. Or short enough for twice as many.
  const double longest = static_cast<double>(longest_ns_);
  const uint32_t lowest = std::min(most_halvings_, halvings_ + kHalvingsAtOnce);
  const uint32_t before = halvings_;
  while (halvings_ < lowest && TimeOf(halvings_, ns_per_token) > longest) ++halvings_;
  if (halvings_ > before) {
    trial_ = Trial{.halvings = before, .ns_per_token = ns_per_token};
  } else if (before > 0 && TimeOf(before - 1, ns_per_token) < longest * kRoomToGrow) {
    --halvings_;
  }
}

}  // namespace aster::engine
