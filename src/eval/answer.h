// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether a reply has the right answer: exactly, except for case, white space and full stops at the
// end of texts, and differences without meaning in JSON. The same verdicts as train/scoring.py,
// which training uses. Must not know models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aster::eval {

// Where the answer is in a reply, and how it is compared.
enum class Extract : uint8_t {
  kFinal,  // the line after the last "Answer:", as text
  kWhole,  // the whole reply, as text
  kJson,   // the whole reply, as JSON
  kCall,   // between <tool_call> and </tool_call>, as JSON
};

// "final", "whole", "json", "call".
std::string_view ExtractName(Extract extract);
Result<Extract> ParseExtract(std::string_view name);

// The part of the reply that is compared; nullopt if there is none. A view into the reply.
std::optional<std::string_view> FindAnswer(std::string_view reply, Extract extract);

// `answer`: a right reply; for kFinal its text after the mark.
bool IsRight(std::string_view reply, std::string_view answer, Extract extract);

// The compared form of a text: in lower case, words with one space between, without full stops at
// the end.
std::string PlainText(std::string_view text);

}  // namespace aster::eval
