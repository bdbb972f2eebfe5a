// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Scores: of one evaluation, by category and overall, and of two that are compared question by
// question. Must not know files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "eval/results.h"

namespace aster::eval {

struct Tally {
  uint64_t asked = 0;  // and answered
  uint64_t right = 0;
  uint64_t skipped = 0;  // not counted in `asked`

  void Add(const QuestionResult& result);
  double rate() const {
    return asked == 0 ? 0 : static_cast<double>(right) / static_cast<double>(asked);
  }
};

struct CategoryTally {
  std::string category;
  Tally tally;
};

// In the order of the categories.
std::vector<CategoryTally> TallyByCategory(std::span<const QuestionResult> results);
Tally TallyAll(std::span<const QuestionResult> results);

// The questions that both answered.
struct PairedTally {
  uint64_t both = 0;         // answered
  uint64_t first_right = 0;  // of these
  uint64_t second_right = 0;
  uint64_t only_first = 0;  // right in the first and wrong in the second
  uint64_t only_second = 0;

  double p() const;  // McNemarP of the two above
};

struct PairedCategory {
  std::string category;
  PairedTally tally;
};

// A question that only one of them had right. Points into the compared results.
struct Change {
  const QuestionResult* first;
  const QuestionResult* second;
};

struct Comparison {
  std::vector<PairedCategory> categories;
  PairedTally all;
  std::vector<Change> changes;  // in the order of their ids, as are the categories
  uint64_t only_in_first = 0;   // questions that the other did not answer
  uint64_t only_in_second = 0;
};

// An error if a question differs: another category or another answer.
Result<Comparison> Compare(std::span<const QuestionResult> first,
                           std::span<const QuestionResult> second);

}  // namespace aster::eval
