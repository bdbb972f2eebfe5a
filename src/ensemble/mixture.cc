// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/mixture.h"

#include <algorithm>
#include <cstddef>
#include <numbers>

#include "base/check.h"
#include "kernels/math.h"

namespace aster::ensemble {
namespace {

// e to this power is negligible beside 1.
constexpr double kNothing = -700;

}  // namespace

double SumOf(std::span<const float> logprobs) {
  double sum = 0;
  for (const float logprob : logprobs) sum += logprob;
  return sum;
}

double MixedLogProbability(std::span<const double> log_probabilities,
                           std::span<const double> weights) {
  CHECK(log_probabilities.size() == weights.size());
  // Relative to the largest, as probabilities may be too small for a number.
  double total_weight = 0, largest = kImpossible;
  for (size_t i = 0; i < weights.size(); ++i) {
    total_weight += weights[i];
    if (weights[i] > 0) largest = std::max(largest, log_probabilities[i]);
  }
  CHECK(total_weight > 0);
  if (largest == kImpossible) return kImpossible;
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double relative = log_probabilities[i] - largest;
    if (weights[i] > 0 && relative > kNothing) sum += weights[i] * kernels::Exp(relative);
  }
  return largest + kernels::Log(sum / total_weight);
}

double BitsPerByte(double log_probability, uint64_t bytes) {
  CHECK(bytes > 0);
  return -log_probability / (static_cast<double>(bytes) * std::numbers::ln2);
}

}  // namespace aster::ensemble
