// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/known_rates.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace aster::plan {
namespace {

// If no rate is known, all nodes count as equal, and nothing is predicted.
constexpr double kAnyRate = 1e9;
// Smaller values are not rates of machines, and would make times infinite.
constexpr double kLeastRate = 1e-6;

}  // namespace

std::optional<double> FillUnknown(std::vector<double>& rates) {
  std::vector<double> known;
  for (double& rate : rates) {
    if (!std::isfinite(rate) || rate < kLeastRate) rate = 0;
    if (rate > 0) known.push_back(rate);
  }
  std::ranges::sort(known);
  const size_t count = known.size();
  const double median = count == 0 ? kAnyRate : (known[(count - 1) / 2] + known[count / 2]) / 2;
  for (double& rate : rates) {
    if (rate == 0) rate = median;
  }
  return known.empty() ? std::nullopt : std::optional(median);
}

}  // namespace aster::plan
