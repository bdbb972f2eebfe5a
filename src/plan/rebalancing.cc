// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/rebalancing.h"

#include <algorithm>

namespace aster::plan {
namespace {

constexpr size_t kMostPast = 16;

}  // namespace

bool Rebalancing::Observe(int64_t now_ns, const Offer& offer) {
  const double gain = 1 - offer.best_s / offer.current_s;
  if (offer.best == offer.current || !(gain >= options_.least_gain)) {
    better_since_ns_.reset();
    return false;
  }
  if (!better_since_ns_) better_since_ns_ = now_ns;
  if (now_ns - *better_since_ns_ < options_.settle_ns || now_ns < may_change_ns_) return false;
  const auto horizon_ns = static_cast<double>(options_.horizon_ns);
  if (offer.is_busy && gain * horizon_ns < static_cast<double>(offer.change_ns)) return false;
  // A plan that was given up before will probably be given up again.
  while (!past_.empty() && now_ns - past_.back().at_ns > 2 * options_.longest_rest_ns)
    past_.pop_back();
  if (past_.empty()) rest_ns_ = options_.rest_ns;
  const bool was_there =
      std::ranges::any_of(past_, [&](const Past& past) { return past.plan == offer.best; });
  if (was_there) rest_ns_ = std::min(2 * rest_ns_, options_.longest_rest_ns);
  past_.push_front({offer.current, now_ns});
  past_.push_front({offer.best, now_ns});
  while (past_.size() > kMostPast) past_.pop_back();
  may_change_ns_ = now_ns + rest_ns_;
  better_since_ns_.reset();
  return true;
}

}  // namespace aster::plan
