// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any bytes as a file of questions; an accepted file is valid.
#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "eval/questions.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto set = aster::eval::ParseQuestions(aster::AsText({data, size}));
  if (!set.ok()) return 0;
  CHECK(!set->questions.empty() && !set->categories.empty());
  for (const aster::eval::Question& question : set->questions) {
    CHECK(!question.id.empty() && question.messages.is_array() && !question.messages.empty());
    CHECK(std::ranges::find(set->categories, question.category) != set->categories.end());
  }
  for (uint64_t limit = 1; limit < 5; ++limit) {
    const auto chosen = aster::eval::Select(*set, {.limit = limit}).value();
    CHECK(chosen.size() == std::min<size_t>(limit, set->questions.size()));
    CHECK(std::ranges::adjacent_find(chosen, std::ranges::greater_equal()) == chosen.end());
  }
  return 0;
}
