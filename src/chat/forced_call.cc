// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/forced_call.h"

#include <nlohmann/json.hpp>

namespace aster::chat {
namespace {

using nlohmann::ordered_json;

// Words that no template writes by itself.
constexpr std::string_view kAnyName = "zqname";
constexpr std::string_view kAnyArguments = "zqgiven";

// What a template writes before arguments that it looks into.
std::string_view FirstArgument(Family family) {
  switch (family) {
    case Family::kGlm:
      return "<arg_key>";
    case Family::kDsml:
      return "<｜DSML｜parameter";
    case Family::kQwenXml:
      return "<parameter=";
    default:
      return kAnyArguments;
  }
}

}  // namespace

Result<ForcedCallText> ForcedCall(const ChatPrompt& chat_prompt, const Dialect& dialect,
                                  std::string_view prompt, std::string_view name) {
  const Error cannot =
      Unimplemented("tool_choice: this model cannot be made to call a tool; use auto");
  ordered_json arguments = std::string(kAnyArguments);
  if (dialect.arguments == ArgumentsAs::kObject) arguments = {{std::string(kAnyArguments), "x"}};
  const ordered_json call = {
      {"id", "zqidzqid0"},
      {"type", "function"},
      {"function",
       {{"name", name.empty() ? kAnyName : name}, {"arguments", std::move(arguments)}}}};
  const ordered_json messages = ordered_json::array(
      {{{"role", "user"}, {"content", "x"}},
       {{"role", "assistant"}, {"content", ""}, {"tool_calls", ordered_json::array({call})}}});
  const auto rendered = chat_prompt.Render(messages, ordered_json());
  if (!rendered.ok()) return cannot;
  const std::string_view open =
      dialect.family == Family::kLlama ? std::string_view("{\"name\"") : CallsOpen(dialect.family);
  const size_t begin = open.empty() ? std::string::npos : rendered->find(open);
  if (begin == std::string::npos) return cannot;
  size_t end = rendered->find(name.empty() ? kAnyName : FirstArgument(dialect.family), begin);
  if (end == std::string::npos) return cannot;
  ForcedCallText forced{
      .opening = EndOfThoughts(dialect, prompt) + rendered->substr(begin, end - begin),
      .middle = "",
      .has_json = dialect.arguments == ArgumentsAs::kText};
  if (!name.empty()) return forced;
  const size_t middle = end + kAnyName.size();
  const size_t after = rendered->find(FirstArgument(dialect.family), middle);
  if (after == std::string::npos) return cannot;
  forced.middle = rendered->substr(middle, after - middle);
  return forced;
}

std::string EndOfThoughts(const Dialect& dialect, std::string_view prompt) {
  const size_t last = prompt.find_last_not_of(" \n");
  const bool is_thinking = dialect.has_thinking && last != std::string_view::npos &&
                           prompt.substr(0, last + 1).ends_with(kThinkOpen);
  if (!is_thinking) return "";
  return dialect.think_close_lead + std::string(kThinkClose) + dialect.think_close_tail;
}

}  // namespace aster::chat
