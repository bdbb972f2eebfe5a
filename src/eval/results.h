// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Files of results: a line about the model and the settings, then a line for each question. Must
// not know how questions are asked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aster::eval {

// Everything that answers depend on: results are comparable if these are the same.
struct ResultHeader {
  std::string model;        // its name, for users
  std::string fingerprint;  // of the model
  std::string questions;    // hash of the file of questions
  std::map<std::string, std::string> settings;

  bool operator==(const ResultHeader&) const = default;
};

// An error that names the first difference, with both values. The model's name may differ.
Status CheckSameRun(const ResultHeader& theirs, const ResultHeader& ours);

struct QuestionResult {
  std::string id;
  std::string category;
  uint64_t prompt_tokens = 0;
  bool skipped = false;  // the prompt leaves no room for a reply; the rest is unset then
  uint64_t reply_tokens = 0;
  std::string reply = {};
  // The compared text; nullopt if the reply has no answer.
  std::optional<std::string> extracted = {};
  std::string expected = {};
  bool right = false;
  std::string finish = {};  // why the reply ended
  double waited_s = 0;
  double prefill_s = 0;
  double decode_s = 0;

  bool operator==(const QuestionResult&) const = default;
};

// One line each, with its line end.
std::string FormatHeader(const ResultHeader& header);
std::string FormatResult(const QuestionResult& result);

struct Results {
  ResultHeader header;
  std::vector<QuestionResult> results;  // ids are different
  size_t whole_bytes = 0;               // of complete lines; the rest was cut off
};

inline constexpr size_t kMaxResultBytes = size_t{1} << 30;

// Ignores an incomplete last line: its writer was interrupted. Errors name the line.
Result<Results> ParseResults(std::string_view text);

}  // namespace aster::eval
