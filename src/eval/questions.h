// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The questions of an evaluation, as files hold them: one JSON object a line (models/README.md).
// Must not know how they are asked.
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
  nlohmann::ordered_json messages;  // as chat templates take them
  nlohmann::ordered_json tools;     // null where there are none
  std::string answer;
  Extract extract = Extract::kWhole;
};

struct QuestionSet {
  std::vector<Question> questions;      // ids are different
  std::vector<std::string> categories;  // in the order in which they come
  Hash128 hash;                         // of the file
};

// The most that a file of questions may have.
inline constexpr size_t kMaxQuestionBytes = size_t{256} << 20;

// Errors name the line.
Result<QuestionSet> ParseQuestions(std::string_view text);

struct Selection {
  std::vector<std::string> categories = {};  // any case, '-' for ' '; none: all
  uint64_t limit = 0;                        // 0: no limit
};

// The numbers of the questions to ask, ascending. Under a limit every category gives as many as the
// others, as long as it has them, and gives them from all over it: long texts stand behind short
// ones there. An error names the categories that there are.
Result<std::vector<size_t>> Select(const QuestionSet& set, const Selection& selection);

}  // namespace aster::eval
