// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a client asks for, whichever dialect it speaks. Must not know dialects, nor how it is done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "respond/conversation.h"
#include "respond/prompt.h"

namespace aster::serve {

using respond::ToolChoice;

// A text to go on from, as it is.
struct RawPrompt {
  std::string text;
  std::vector<int32_t> ids = {};  // instead, if there are any
  // Fill-in-the-middle: the text behind the gap that the answer fills.
  std::optional<std::string> suffix = {};
  std::vector<respond::OtherFile> others = {};
  std::string middle = {};  // what the gap begins with
};

struct Ask : respond::Conversation, respond::Settings {
  // Instead of messages: texts, each answered by itself.
  std::vector<RawPrompt> raw;
  std::string prompt_field = "messages";  // the request's, that has either
  uint32_t choices = 1;                   // answers to each prompt
  std::string form_field;                 // the request's, that asks for the form

  std::vector<std::string> left_out_tools;  // types of tools that only their makers' servers run

  bool streams = false;
  bool is_background = false;   // the client asks for the answer later
  bool wants_usage = false;     // at the end of a stream
  bool wants_progress = false;  // of the prompt, in a stream
  bool wants_tokens = false;    // ids of the answer's tokens
  bool echo = false;            // the prompt comes before the answer
  std::string user;             // who asks, as the client says
  int64_t timeout_ns = 0;       // how long the client waits; 0: as long as the server lets it
};

// What the server answers with where a client says nothing.
struct AskDefaults {
  engine::SamplingOptions sampling;
  uint64_t max_tokens = engine::kNoTokenLimit;
  uint32_t vocab_size = 0;
  uint32_t context_limit = 0;  // tokens of prompt and answer
};

inline constexpr uint32_t kMaxChoices = 16;
inline constexpr uint32_t kMaxTopLogprobs = 20;

}  // namespace aster::serve
