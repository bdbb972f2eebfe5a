// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What several models are asked, and what one of them makes of it: its own prompt, settings and
// grammar. Must not know how they come to an answer.
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
  std::optional<std::string> text = {};  // instead of its messages: a text to go on from
  respond::Settings settings = {};
  // The response is its text alone: no reasoning or calls are looked for in it.
  bool is_raw = false;
  // The answer, to be rated and not written (policy bytes).
  std::optional<std::string> dictated = {};
  std::string client = {};  // who asks, where clients take turns
};

// A question as one member sees it.
struct PreparedQuestion {
  bool is_text = false;  // the prompt is a text to go on from
  // With the member's own limits and seed, and the probability of every token.
  respond::Settings settings;
  respond::Prompt prompt;
  std::shared_ptr<grammar::MaskCache> masks;
};

// The member's tokens of a text behind its prompt, as its template would have put it there.
// `marked` is what ChatPrompt::Marked gives, or has the markup of calls and reasoning. None where
// the text would join the prompt's last token.
Result<std::optional<std::vector<int32_t>>> TokensBehind(const Member& member,
                                                         const PreparedQuestion& prepared,
                                                         const std::string& marked);

// An error where the member cannot have the question.
Result<PreparedQuestion> PrepareQuestion(const Member& member, const Question& question);

}  // namespace aster::ensemble
