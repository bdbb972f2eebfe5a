// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The questions of an evaluation file: one JSON object per line (models/README.md). Must not know
// how they are asked.
#pragma once

// tidy: allow(third-party) questions hold JSON values, and few files include this
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "eval/answer.h"

namespace aster::eval {

struct Question {
  std::string id;
  std::string category;
  nlohmann::ordered_json messages;  // in the form of chat templates
  nlohmann::ordered_json tools;     // null: none
  std::string answer;
  Extract extract = Extract::kWhole;
};

struct QuestionSet {
  std::vector<Question> questions;      // ids are different
  std::vector<std::string> categories;  // in the order of the file
  Hash128 hash;                         // of the file
};

// The largest file of questions.
inline constexpr size_t kMaxQuestionBytes = size_t{256} << 20;

// Errors name the line.
Result<QuestionSet> ParseQuestions(std::string_view text);

struct Selection {
  std::vector<std::string> categories = {};  // any case, '-' for ' '; empty: all
  uint64_t limit = 0;                        // 0: no limit
};

// The indices of the questions to ask, ascending. With a limit, all categories give the same
// number, as far as they have it, spread over the whole category: long texts come after short ones
// there. An error lists the existing categories.
Result<std::vector<size_t>> Select(const QuestionSet& set, const Selection& selection);

}  // namespace aster::eval
