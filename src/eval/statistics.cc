// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/statistics.h"

#include <algorithm>
#include <cmath>

namespace aster::eval {
namespace {

// The quantile of the normal distribution that leaves 2.5 % on either side.
constexpr double kNormal95 = 1.959963984540054;

}  // namespace

Interval WilsonInterval(uint64_t right, uint64_t asked) {
  if (asked == 0) return {};
  const auto n = static_cast<double>(asked);
  const double rate = static_cast<double>(right) / n;
  const double z2 = kNormal95 * kNormal95;
  const double middle = (rate + z2 / (2 * n)) / (1 + z2 / n);
  const double reach =
      kNormal95 / (1 + z2 / n) * std::sqrt(rate * (1 - rate) / n + z2 / (4 * n * n));
  // At the ends the formula gives 0 and 1 except for rounding.
  return {right == 0 ? 0 : std::max(0.0, middle - reach),
          right == asked ? 1 : std::min(1.0, middle + reach)};
}

double McNemarP(uint64_t only_first, uint64_t only_second) {
  const uint64_t count = only_first + only_second;
  const uint64_t fewer = std::min(only_first, only_second);
  if (2 * fewer == count) return 1;
  // The probability of `fewer` or less, twice. In logarithms, as 2^-count may underflow.
  const auto n = static_cast<double>(count);
  double log_ways = 0;  // to choose `i` of `count`
  double sum = 0;
  for (uint64_t i = 0; i <= fewer; ++i) {
    if (i > 0) {
      const auto chosen = static_cast<double>(i);
      log_ways += std::log((n - chosen + 1) / chosen);
    }
    sum += std::exp(log_ways - n * std::log(2.0));
  }
  return std::min(1.0, 2 * sum);
}

}  // namespace aster::eval
