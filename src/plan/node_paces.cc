// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/node_paces.h"

#include <algorithm>
#include <vector>

namespace aster::plan {
namespace {

// Shares of a node's rates: below the first it is slow, above the second it is no longer slow.
constexpr double kSlow = 0.65;
constexpr double kWell = 0.85;
constexpr double kLeast = 0.01;
constexpr int64_t kForgetNs = 60 * kNsPerSecond;
constexpr uint32_t kMostDoublings = 6;

}  // namespace

bool NodePaces::IsForgotten(const Pace& pace, int64_t now_ns) {
  const uint32_t doublings = std::min(std::max(pace.found_slow, 1u) - 1, kMostDoublings);
  return now_ns - pace.seen_ns >= kForgetNs << doublings;
}

void NodePaces::Observe(std::span<const Seen> all, int64_t now_ns) {
  // How much longer each node takes than at its best; the smallest of these is common to all.
  std::vector<double> longer;
  for (const Seen& seen : all) {
    const auto [best, is_new] = best_.emplace(std::pair(seen.node, seen.kind), seen.ratio);
    best->second = std::min(best->second, seen.ratio);
    longer.push_back(best->second > 0 ? seen.ratio / best->second : 1);
  }
  const double common = longer.size() < 2 ? 1 : *std::ranges::min_element(longer);
  for (size_t i = 0; i < all.size(); ++i) {
    const double now = std::clamp(common / std::max(longer[i], 1e-9), kLeast, 1.0);
    Follow(paces_[all[i].node], now, now_ns);
  }
}

void NodePaces::Follow(Pace& pace, double now, int64_t now_ns) {
  if (IsForgotten(pace, now_ns)) pace.now = 1;
  pace.seen_ns = now_ns;
  if (pace.now == 1 && now < kSlow) {
    ++pace.found_slow;
    pace.now = now;
  } else if (pace.now < 1) {
    // A slow node's share is updated in steps that are worth another plan.
    if (now > kWell) {
      pace.now = 1;
    } else if (now < kSlow * pace.now || pace.now < kSlow * now) {
      pace.now = now;
    }
  }
}

double NodePaces::Of(const wire::NodeId& node, int64_t now_ns) const {
  const auto found = paces_.find(node);
  if (found == paces_.end() || IsForgotten(found->second, now_ns)) return 1;
  return found->second.now;
}

}  // namespace aster::plan
