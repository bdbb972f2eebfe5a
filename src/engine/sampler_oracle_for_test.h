// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A plain second sampler: sorts everything, in double precision, with the platform's own
// mathematics. Tests compare the sampler's choices with it. Only for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <vector>

#include "engine/sampler.h"

namespace aster::engine {

// Tokens with their probabilities, which add up to 1.
using Distribution = std::map<int32_t, double>;

inline std::vector<double> AdjustedForTest(const SamplingOptions& options,
                                           std::span<const float> logits,
                                           std::span<const int32_t> history) {
  std::vector<double> scores(logits.begin(), logits.end());
  size_t window = options.penalty_window;
  if (window == 0 || window > history.size()) window = history.size();
  std::map<int32_t, int> counts;
  for (const int32_t id : history.last(window)) ++counts[id];
  for (const auto& [id, count] : counts) {
    double& score = scores[static_cast<size_t>(id)];
    score *= score > 0 ? 1.0 / options.repetition_penalty : options.repetition_penalty;
    score -= options.frequency_penalty * count;
    score -= options.presence_penalty;
  }
  for (const TokenBias& bias : options.biases) scores[static_cast<size_t>(bias.id)] += bias.bias;
  return scores;
}

// A list of tokens, in order of preference, with the probability of each.
struct RankedForTest {
  std::vector<int32_t> ids;
  std::vector<double> probabilities;

  RankedForTest(std::vector<int32_t> tokens, const std::vector<double>& scores, double temperature)
      : ids(std::move(tokens)) {
    std::ranges::stable_sort(ids, [&](int32_t a, int32_t b) { return scores[a] > scores[b]; });
    double sum = 0;
    for (const int32_t id : ids) {
      probabilities.push_back(std::exp((scores[id] - scores[ids[0]]) / temperature));
      sum += probabilities.back();
    }
    for (double& probability : probabilities) probability /= sum;
  }

  // The first ones that together have `p`.
  std::vector<int32_t> FirstOf(double p) const {
    double sum = 0;
    size_t count = 0;
    while (count < ids.size() && sum < p) sum += probabilities[count++];
    return {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count)};
  }
};

inline std::vector<int32_t> TypicalForTest(std::vector<int32_t> ids,
                                           const std::vector<double>& scores, double p) {
  RankedForTest ranked(std::move(ids), scores, 1);
  double entropy = 0;
  for (const double q : ranked.probabilities) {
    if (q > 0) entropy -= q * std::log(q);
  }
  std::vector<size_t> order(ranked.ids.size());
  std::iota(order.begin(), order.end(), 0);
  const auto oddness = [&](size_t i) {
    return std::abs(-std::log(ranked.probabilities[i]) - entropy);
  };
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return oddness(a) < oddness(b); });
  double sum = 0;
  std::vector<int32_t> kept;
  for (const size_t i : order) {
    if (sum >= p) break;
    sum += ranked.probabilities[i];
    kept.push_back(ranked.ids[i]);
  }
  std::ranges::sort(kept);
  return kept;
}

inline Distribution DistributionForTest(const SamplingOptions& options,
                                        std::span<const float> logits,
                                        std::span<const int32_t> history) {
  const std::vector<double> scores = AdjustedForTest(options, logits, history);
  std::vector<int32_t> ids;
  for (size_t id = 0; id < scores.size(); ++id) {
    if (scores[id] > -std::numeric_limits<double>::infinity()) {
      ids.push_back(static_cast<int32_t>(id));
    }
  }
  if (options.temperature == 0) return {{RankedForTest(ids, scores, 1).ids[0], 1.0}};
  if (options.top_k > 0 && options.top_k < ids.size()) {
    ids = RankedForTest(ids, scores, 1).ids;
    ids.resize(options.top_k);
    std::ranges::sort(ids);
  }
  if (options.typical_p < 1) ids = TypicalForTest(ids, scores, options.typical_p);
  RankedForTest ranked(ids, scores, 1);
  ids = options.top_p < 1 ? ranked.FirstOf(options.top_p) : ranked.ids;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ranked.probabilities[i] < options.min_p * ranked.probabilities[0]) ids.resize(i);
  }
  ranked = RankedForTest(ids, scores, options.temperature);
  Distribution distribution;
  for (size_t i = 0; i < ranked.ids.size(); ++i) {
    distribution[ranked.ids[i]] = ranked.probabilities[i];
  }
  return distribution;
}

inline double LogprobForTest(std::span<const float> logits, int32_t id) {
  const double best = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - best);
  return logits[static_cast<size_t>(id)] - best - std::log(sum);
}

}  // namespace aster::engine
