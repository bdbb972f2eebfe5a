// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/prefill_budget.h"

#include <algorithm>
#include <utility>

namespace aster::engine {
namespace {

// Matrix products with fewer rows than this cost much more per row.
constexpr uint32_t kFewestTokens = 16;
// Most halvings in one step, before smaller steps were measured.
constexpr uint32_t kHalvingsAtOnce = 2;
// How much more a token may cost in a shorter step; other programs cause some of that.
constexpr double kWorthIt = 1.5;
// Grows if a step with twice the tokens would take less than this part of the longest time.
constexpr double kRoomToGrow = 0.75;
// Steps after which fewer tokens are tried again: the high cost may have been caused by other
// prompts or programs.
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
  // Ignores steps with much less to compute, which say little about full ones, and steps with more,
  // which began before the budget shrank.
  const uint32_t full = this->tokens();
  const bool is_full = tokens <= full && uint64_t{tokens} * 4 >= uint64_t{full} * 3;
  if (longest_ns_ == 0 || tokens == 0 || !is_full) return;
  const double ns_per_token = static_cast<double>(step_ns) / tokens;
  if (is_growing_first_) is_growing_first_ = GrowsFirst(ns_per_token);
  if (!is_growing_first_) Adapt(ns_per_token);
}

// Grows from the fewest tokens on. A token takes as long in a small step as in a large one, or
// longer, so the budget grows at once as far as that allows. False once it cannot grow further.
bool PrefillBudget::GrowsFirst(double ns_per_token) {
  const double room = static_cast<double>(longest_ns_) * kRoomToGrow;
  const uint32_t before = halvings_;
  const std::optional<Trial> trial = std::exchange(trial_, std::nullopt);
  // A step of twice the tokens took hardly longer: the time does not depend on tokens.
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
  // Shortening gained little: back to the budget before.
  const std::optional<Trial> trial = std::exchange(trial_, std::nullopt);
  if (trial && IsFailed(*trial, ns_per_token)) {
    halvings_ = most_halvings_ = trial->halvings;
    steps_until_retry_ = kStepsUntilRetry;
    return;
  }
  // Too long: shortens as far as needed. Or short enough for twice as many tokens.
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
