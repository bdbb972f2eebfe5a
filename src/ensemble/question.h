// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A question to several models, and each one's view of it: its own prompt, settings and grammar.
// Must not know how they make an answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ensemble/member.h"
#include "grammar/token_mask.h"
#include "respond/conversation.h"
#include "respond/prompt.h"

namespace aster::ensemble {

struct Question {
  respond::Conversation conversation = {};
  std::optional<std::string> text = {};  // replaces its messages: a text to continue
  respond::Settings settings = {};
  // The response is only text: reasoning and calls are not parsed.
  bool is_raw = false;
  // The answer, to be rated and not written (bytes policy).
  std::optional<std::string> forced_text = {};
  std::string client = {};  // for taking turns with other clients
};

// A question as one member sees it.
struct PreparedQuestion {
  bool is_text = false;  // the prompt is a text to continue
  // With the member's own limits and seed, and the probability of every token.
  respond::Settings settings;
  respond::Prompt prompt;
  std::shared_ptr<grammar::MaskCache> masks;
};

// The member's tokens of a text after its prompt, as its template would have put it there.
// `marked`: the result of ChatPrompt::Marked, or text with the markup of calls and reasoning.
// Nullopt if the text would merge with the prompt's last token.
Result<std::optional<std::vector<int32_t>>> TokensBehind(const Member& member,
                                                         const PreparedQuestion& prepared,
                                                         const std::string& marked);

// An error if the member cannot take the question.
Result<PreparedQuestion> PrepareQuestion(const Member& member, const Question& question);

}  // namespace aster::ensemble
