// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a client asks for, whichever dialect it speaks. Must not know dialects, nor how it is done.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>  // tidy: allow(third-party) all who read requests read JSON
#include <optional>
#include <string>
#include <vector>

#include "engine/request.h"
#include "grammar/grammar.h"

namespace aster::serve {

enum class ToolChoice : uint8_t { kAuto, kNone, kRequired, kNamed };

// A text to go on from, as it is.
struct RawPrompt {
  std::string text;
  std::vector<int32_t> ids;  // instead, if there are any
};

struct Ask {
  // A conversation, as chat templates take it; arguments of calls are texts.
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  nlohmann::ordered_json tools;  // in OpenAI's form; null where there are none
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();  // more for the template
  ToolChoice tool_choice = ToolChoice::kAuto;
  std::string tool_name;  // for kNamed
  bool parallel_calls = true;
  std::vector<std::string> strict_tools;  // by name: their calls have to be of their schemas
  // Or texts, each answered by itself.
  std::vector<RawPrompt> raw;
  std::string prompt_field = "messages";  // the request's, that has either

  engine::SamplingOptions sampling;
  uint64_t max_tokens = engine::kNoTokenLimit;
  std::vector<std::string> stops;
  bool ignores_end = false;
  uint32_t choices = 1;                             // answers to each prompt
  std::shared_ptr<const grammar::Grammar> grammar;  // that the answer is to be of, or null
  std::string grammar_field;                        // the request's, that asks for it

  bool streams = false;
  bool wants_usage = false;  // at the end of a stream
  bool echo = false;         // the prompt comes before the answer
  std::string user;          // who asks, as the client says
  int64_t timeout_ns = 0;    // how long the client waits; 0: as long as the server lets it
};

// What the server answers with where a client says nothing.
struct AskDefaults {
  engine::SamplingOptions sampling;
  uint64_t max_tokens = engine::kNoTokenLimit;
  uint32_t vocab_size = 0;
  uint32_t context_limit = 0;  // tokens of prompt and answer
};

inline constexpr uint32_t kMaxChoices = 16;
inline constexpr size_t kMaxTools = 512;
inline constexpr uint32_t kMaxTopLogprobs = 20;

}  // namespace aster::serve
