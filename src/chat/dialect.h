// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How a family of models writes reasoning and tool calls, found from its chat template's output for
// a conversation that has them: the model has been trained to write the same. Must not know
// replies.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "chat/call_form.h"
#include "jinja/template.h"

namespace aster::chat {

enum class Family : uint8_t {
  kPlain,     // no calls
  kHermes,    // <tool_call>{"name": …, "arguments": …}</tool_call>: Hermes, Qwen, nova
  kLlama,     // the whole reply is {"name": …, "parameters": …}, perhaps after <|python_tag|>
  kMistral,   // [TOOL_CALLS][{…}, …], or [TOOL_CALLS]name[ARGS]{…}, perhaps with [CALL_ID]id
  kDeepSeek,  // <｜tool▁calls▁begin｜>…: V3, R1 and V3.1
  kDsml32,    // <｜DSML｜function_calls>…: V3.2
  kDsml,      // <｜DSML｜tool_calls>…: V4
  kDsml41,    // <｜DSML｜ calls>…, each tag with a space in it: V4.1
  kGlm,       // <tool_call>name, <arg_key>, <arg_value>
  kQwenXml,   // <tool_call><function=name><parameter=…>: Qwen3 Coder
  kMimo,      // the same, without line breaks around values
  kKimi,      // <|tool_calls_section_begin|>…
  kMiniMax,   // <minimax:tool_call><invoke name="…"><parameter name="…">
  kGemma,     // <|tool_call>call:name{key:<|"|>text<|"|>}<tool_call|>: Gemma 4
  kPhi,       // <|tool_call|>[{"name": …, "arguments": …}, …]<|/tool_call|>: Phi 4 mini
  kHarmony,   // messages in channels, <|channel|>…: gpt-oss (harmony_reply.h)
};
std::string_view FamilyName(Family family);

// How templates expect the arguments of earlier calls.
enum class ArgumentsAs : uint8_t {
  kText,    // they write a string unchanged: the very bytes are passed
  kObject,  // they read the object
};

struct Dialect {
  Family family = Family::kPlain;
  bool has_tools = false;      // the template tells the model about tools
  bool has_reasoning = false;  // the model may think before it answers
  ArgumentsAs arguments = ArgumentsAs::kObject;
  std::optional<CallForm> calls = {};  // how the template writes them

  // What the template supports in a conversation (conversation.h).
  bool takes_system = true;        // a system message at the beginning
  bool takes_later_system = true;  // or anywhere
  bool wants_short_ids = false;    // of calls: nine letters or digits

  // White space that the template writes around texts, and that is not part of them.
  std::string call_lead = {};             // between content and calls
  std::string reasoning_open_tail = {};   // after the mark that opens reasoning
  std::string reasoning_close_lead = {};  // before the mark that closes it
  std::string reasoning_close_tail = {};  // after that mark
};

// Whether a template has its own notation of arguments, and would write a text unchanged in its
// place (Gemma 4).
bool WantsArgumentObjects(std::string_view source);

// The marks around reasoning.
std::string_view ReasoningOpen(Family family);
std::string_view ReasoningClose(Family family);

// The text before the first call of a reply, the same for all of a family; empty if there is none.
std::string_view CallsOpen(Family family);

// The beginning of an answer without reasoning or calls; empty if it has none.
std::string_view AnswerOpen(Family family);

// The text that ends reasoning that has begun at the end of `prompt`; empty if none has.
std::string ReasoningEnd(const Dialect& dialect, std::string_view prompt);
// Whether reasoning has begun at its end.
bool EndsInReasoning(const Dialect& dialect, std::string_view prompt);

// `base` has the variables of every prompt, such as bos_token. If a template cannot be rendered
// with calls, its family is found by its source, and it has no other features.
Dialect FindDialect(std::string_view source, const jinja::ChatTemplate& chat_template,
                    const nlohmann::ordered_json& base);

}  // namespace aster::chat
