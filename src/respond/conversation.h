// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A conversation that a model responds to, with its options: messages, tools, the form of the
// response, reasoning, sampling, limits. Must not know where it comes from, nor how a response is
// made.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>  // tidy: allow(third-party) messages and tools are JSON values
#include <string>
#include <vector>

#include "engine/request.h"
#include "grammar/grammar.h"

namespace aster::respond {

enum class ToolChoice : uint8_t { kAuto, kNone, kRequired, kNamed };

struct Conversation {
  // In the form of chat templates; the arguments of calls are texts.
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  nlohmann::ordered_json tools;  // in OpenAI's form; null: none
  // Further variables of the template, such as those of the reasoning effort (SetReasoning).
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
  ToolChoice tool_choice = ToolChoice::kAuto;
  std::string tool_name;  // for kNamed
  bool parallel_calls = true;
  bool continues = false;  // the last message is the beginning of the response, and is not repeated
  std::vector<std::string> strict_tools;         // by name: their calls must match their schemas
  std::shared_ptr<const grammar::Grammar> form;  // of the response; null: free text

  bool offers_tools() const { return !tools.is_null() && tool_choice != ToolChoice::kNone; }
};

// Sets whether the model reasons before it answers, with all variables that templates have for it.
void SetReasoning(bool reasons, Conversation& conversation);

struct Settings {
  engine::SamplingOptions sampling;
  uint64_t max_tokens = engine::kNoTokenLimit;
  std::vector<std::string> stops;
  bool ignores_end = false;    // continues after the tokens that end an answer
  uint32_t context_limit = 0;  // tokens of prompt and response; 0: the model's training context
  engine::DraftOptions draft = {};
};

}  // namespace aster::respond
