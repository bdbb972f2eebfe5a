// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How a family of models writes thoughts and calls of tools, found by looking at what its chat
// template makes of a conversation that has them: what the template writes is what the model has
// been taught. Must not know replies.
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
  kLlama,     // the whole reply is {"name": …, "parameters": …}, perhaps behind <|python_tag|>
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

// How templates want the arguments of calls in a history.
enum class ArgumentsAs : uint8_t {
  kText,    // they write a string as it stands: the very bytes go in
  kObject,  // they look into it
};

struct Dialect {
  Family family = Family::kPlain;
  bool has_tools = false;     // the template tells the model about tools
  bool has_thinking = false;  // the model may think before it answers
  ArgumentsAs arguments = ArgumentsAs::kObject;
  std::optional<CallForm> calls = {};  // how the template writes them

  // What the template can do with a conversation (conversation.h).
  bool takes_system = true;        // a system message at the beginning
  bool takes_later_system = true;  // or anywhere
  bool wants_short_ids = false;    // of calls: nine letters or digits

  // White space that the template writes around what was said, and that is not part of it.
  std::string call_lead = {};         // between content and calls
  std::string think_open_tail = {};   // behind what opens thoughts
  std::string think_close_lead = {};  // before what closes them
  std::string think_close_tail = {};  // behind it
};

// Whether a template has its own way to write arguments: it would write a text as it stands, where
// that way belongs (Gemma 4).
bool WantsArgumentObjects(std::string_view source);

// What stands around thoughts.
std::string_view ThinkOpen(Family family);
std::string_view ThinkClose(Family family);

// What stands before the first call of a reply, the same for all of a family; empty where nothing
// does.
std::string_view CallsOpen(Family family);

// What an answer without thoughts or calls begins with; empty where it just begins.
std::string_view AnswerOpen(Family family);

// Ends thoughts that have begun at the end of `prompt`; nothing where none have.
std::string EndOfThoughts(const Dialect& dialect, std::string_view prompt);
// Whether they have.
bool IsThinkingBehind(const Dialect& dialect, std::string_view prompt);

// `base` has the variables that every prompt has, such as bos_token. A template that cannot be
// rendered with calls has the family that its text names, and takes no part in more.
Dialect FindDialect(std::string_view source, const jinja::ChatTemplate& chat_template,
                    const nlohmann::ordered_json& base);

}  // namespace aster::chat
