// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A client's request, in any dialect. Must not know dialects, nor how it is answered.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "respond/conversation.h"
#include "respond/prompt.h"

namespace aster::serve {

using respond::ToolChoice;

// A text to continue, without a template.
struct RawPrompt {
  std::string text;
  std::vector<int32_t> ids = {};  // used instead, if there are any
  // Fill-in-the-middle: the text after the gap that the answer fills.
  std::optional<std::string> suffix = {};
  std::vector<respond::OtherFile> others = {};
  std::string middle = {};  // the beginning of the gap's text
};

struct ApiRequest : respond::Conversation, respond::Settings {
  // Instead of messages: texts, each answered separately.
  std::vector<RawPrompt> raw;
  std::string prompt_field = "messages";  // the request's field with either of them
  uint32_t choices = 1;                   // answers per prompt
  // Of the calls in messages so far, for their results.
  std::set<std::string, std::less<>> call_ids;
  std::string form_field;  // the request's field with the form

  std::vector<std::string> left_out_tools;  // types that only other makers' servers can run

  bool streams = false;
  bool is_background = false;   // the client fetches the answer later
  bool wants_usage = false;     // at the end of a stream
  bool wants_progress = false;  // of the prompt, in a stream
  bool wants_tokens = false;    // ids of the answer's tokens
  bool echo = false;            // the reply begins with the prompt
  std::string user;             // the client's name for its user
  int64_t timeout_ns = 0;       // how long the client waits; 0: up to the server's limit
  // The answer ends as if it had reached its limit when it has a whole line and this time is over
  // since its first token; 0: it does not.
  int64_t line_ns = 0;
};

// The server's values for options that a request does not set.
struct RequestDefaults {
  engine::SamplingOptions sampling;
  uint64_t max_tokens = engine::kNoTokenLimit;
  uint32_t vocab_size = 0;
  uint32_t context_limit = 0;  // tokens of prompt and answer
};

inline constexpr uint32_t kMaxChoices = 16;
inline constexpr uint32_t kMaxTopLogprobs = 20;

}  // namespace aster::serve
