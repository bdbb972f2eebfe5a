// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/competence.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

namespace aster::eval {

Result<std::vector<double>> WeightsByResults(std::span<const Results> all) {
  // Only questions that every model was asked.
  std::map<std::string, size_t> answered;
  for (const Results& results : all) {
    if (results.header.questions != all.front().header.questions)
      return InvalidArgument("these are results of different files of questions");
    for (const QuestionResult& result : results.results) answered[result.id] += !result.skipped;
  }
  const auto count = std::ranges::count_if(
      answered, [&](const auto& entry) { return entry.second == all.size(); });
  if (count == 0) return InvalidArgument("there is no question that all models have answered");
  std::vector<double> right;
  for (const Results& results : all) {
    right.push_back(
        static_cast<double>(std::ranges::count_if(results.results, [&](const auto& result) {
          return result.right && answered[result.id] == all.size();
        })));
  }
  const double best = *std::ranges::max_element(right);
  std::vector<double> weights;
  for (const double each : right) {
    // Half a question each way, so that no odds are infinite.
    const double odds = (each + 0.5) / (static_cast<double>(count) - each + 0.5);
    weights.push_back(each < kWorthAsking * best ? 0 : odds);
  }
  return weights;
}

}  // namespace aster::eval
