// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A message of a conversation, as it was written and as chat templates take it. Must not know
// models, nor how answers are made.
#pragma once

#include <nlohmann/json.hpp>  // tidy: allow(third-party) messages are JSON values
#include <string>

#include "chat/prompt.h"
#include "respond/reply.h"

namespace aster::respond {

// One of user, assistant or tool.
struct Turn {
  chat::Message said;            // as typed, or as the model wrote it
  nlohmann::ordered_json shown;  // in the form of chat templates
};

Turn QuestionTurn(const std::string& text);
Turn AnswerTurn(const std::string& text, const Reply& reply);
Turn ResultTurn(const Call& call, const std::string& result);

}  // namespace aster::respond
