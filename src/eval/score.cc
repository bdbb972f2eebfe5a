// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/utf8.h"
#include "eval/statistics.h"

namespace aster::eval {
namespace {

// The entry of a category; makes it if there is none.
template <typename Entry>
auto& TallyOf(std::vector<Entry>& entries, const std::string& category) {
  const auto found = std::ranges::find(entries, category, &Entry::category);
  if (found != entries.end()) return found->tally;
  entries.push_back({category, {}});
  return entries.back().tally;
}

void Add(PairedTally& tally, const QuestionResult& first, const QuestionResult& second) {
  ++tally.both;
  tally.first_right += first.right ? 1 : 0;
  tally.second_right += second.right ? 1 : 0;
  tally.only_first += first.right && !second.right ? 1 : 0;
  tally.only_second += second.right && !first.right ? 1 : 0;
}

}  // namespace

void Tally::Add(const QuestionResult& result) {
  if (result.skipped) {
    ++skipped;
    return;
  }
  ++asked;
  right += result.right ? 1 : 0;
}

std::vector<CategoryTally> TallyByCategory(std::span<const QuestionResult> results) {
  std::vector<CategoryTally> tallies;
  for (const QuestionResult& result : results) TallyOf(tallies, result.category).Add(result);
  return tallies;
}

Tally TallyAll(std::span<const QuestionResult> results) {
  Tally all;
  for (const QuestionResult& result : results) all.Add(result);
  return all;
}

double PairedTally::p() const { return McNemarP(only_first, only_second); }

Result<Comparison> Compare(std::span<const QuestionResult> first,
                           std::span<const QuestionResult> second) {
  std::unordered_map<std::string_view, const QuestionResult*> by_id;
  for (const QuestionResult& result : second) {
    if (!result.skipped) by_id.emplace(result.id, &result);
  }
  // Lines are in the order in which replies ended, which is random.
  std::vector<const QuestionResult*> by_name;
  for (const QuestionResult& result : first) {
    if (!result.skipped) by_name.push_back(&result);
  }
  std::ranges::sort(by_name, {}, [](const QuestionResult* result) { return result->id; });
  Comparison comparison;
  for (const QuestionResult* const mine : by_name) {
    const QuestionResult& result = *mine;
    const auto found = by_id.find(result.id);
    if (found == by_id.end()) {
      ++comparison.only_in_first;
      continue;
    }
    const QuestionResult& other = *found->second;
    if (other.category != result.category || other.expected != result.expected) {
      return FailedPrecondition(
          fmt::format("\"{}\" is not the same question in both: these are results of different "
                      "questions",
                      ForDisplay(result.id)));
    }
    Add(TallyOf(comparison.categories, result.category), result, other);
    Add(comparison.all, result, other);
    if (result.right != other.right) comparison.changes.push_back({&result, &other});
  }
  comparison.only_in_second = by_id.size() - comparison.all.both;
  return comparison;
}

}  // namespace aster::eval
