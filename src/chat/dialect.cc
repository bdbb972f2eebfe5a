// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/dialect.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace aster::chat {
namespace {

using nlohmann::ordered_json;

// Words that no template writes by itself.
constexpr std::string_view kContent = "zqcontent";
constexpr std::string_view kReasoning = "zqthought";
constexpr std::string_view kName = "zqname";
constexpr std::string_view kArguments = "zqarguments";

constexpr std::string_view kLlamaCall = "{\"name\"";

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool IsDsml(Family family) {
  return family == Family::kDsml32 || family == Family::kDsml || family == Family::kDsml41;
}

bool HasTags(Family family) {
  return IsDsml(family) || family == Family::kGlm || family == Family::kQwenXml ||
         family == Family::kMimo || family == Family::kMiniMax;
}

// More specific marks first: several families share <tool_call>.
Family FamilyOf(std::string_view source) {
  constexpr std::pair<std::string_view, Family> kMarks[] = {
      {"｜DSML｜ calls>", Family::kDsml41},
      {"｜DSML｜function_calls>", Family::kDsml32},
      {"｜DSML｜", Family::kDsml},
      {"<｜tool▁calls▁begin｜>", Family::kDeepSeek},
      {"<|channel|>", Family::kHarmony},
      {"<|tool_calls_section_begin|>", Family::kKimi},
      {"<minimax:tool_call>", Family::kMiniMax},
      {"<|tool_call>call:", Family::kGemma},
      {"<|tool_call|>[", Family::kPhi},
      {"[TOOL_CALLS]", Family::kMistral},
      {"<arg_key>", Family::kGlm},
      {"<function=", Family::kQwenXml},
      {"<tool_call>", Family::kHermes},
      {"<|python_tag|>", Family::kLlama},
      {"Environment: ipython", Family::kLlama},
      {"{\"name\": function name, \"parameters\":", Family::kLlama},
  };
  for (const auto& [mark, family] : kMarks) {
    if (Has(source, mark)) return family;
  }
  return Family::kPlain;
}

ordered_json ToolsJson() {
  const ordered_json parameters = {{"type", "object"},
                                   {"properties", {{"a", {{"type", "string"}}}}}};
  return ordered_json::array(
      {{{"type", "function"},
        {"function", {{"name", kName}, {"description", "none"}, {"parameters", parameters}}}}});
}

ordered_json MessageJson(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

ordered_json MessageWithCall(const ordered_json& arguments) {
  ordered_json message = MessageJson("assistant", kContent);
  message["tool_calls"] =
      ordered_json::array({{{"id", "zqidzqid0"},
                            {"type", "function"},
                            {"function", {{"name", kName}, {"arguments", arguments}}}}});
  return message;
}

class Probe {
 public:
  Probe(const jinja::ChatTemplate& chat_template, const ordered_json& base)
      : template_(chat_template), base_(base) {}

  std::optional<std::string> Render(const ordered_json& answer, bool with_tools) const {
    return RenderAll(ordered_json::array({MessageJson("user", "hello"), answer}), with_tools);
  }
  std::optional<std::string> RenderAll(ordered_json messages, bool with_tools) const {
    ordered_json variables = base_;
    variables["messages"] = std::move(messages);
    variables["add_generation_prompt"] = false;
    variables["enable_thinking"] = true;
    variables["thinking"] = true;
    if (with_tools) variables["tools"] = ToolsJson();
    auto text = template_.Render(variables);
    if (!text.ok()) return std::nullopt;
    return *std::move(text);
  }
  std::string eos() const { return base_.value("eos_token", ""); }

 private:
  const jinja::ChatTemplate& template_;
  const ordered_json& base_;
};

// The text between two texts, the first of which is searched from `at` on.
std::optional<std::string> Between(std::string_view text, std::string_view before,
                                   std::string_view after) {
  const size_t begin = text.rfind(before);
  if (begin == std::string_view::npos) return std::nullopt;
  const size_t from = begin + before.size();
  const size_t end = text.find(after, from);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(from, end - from));
}

// Checks the output, as templates do not fail for messages that they omit.
bool TakesSystem(const Probe& probe, const ordered_json& messages) {
  const auto text = probe.RenderAll(messages, /*with_tools=*/false);
  return text && Has(*text, kContent);
}

void ProbeConversations(const Probe& probe, Dialect& dialect) {
  const ordered_json system = MessageJson("system", kContent);
  const ordered_json user = MessageJson("user", "hello");
  const ordered_json answer = MessageJson("assistant", "hi");
  dialect.takes_system = TakesSystem(probe, ordered_json::array({system, user}));
  dialect.takes_later_system =
      TakesSystem(probe, ordered_json::array({user, answer, system, user}));
  ordered_json call = MessageWithCall({{"a", "b"}});
  const bool takes_call = probe.Render(call, /*with_tools=*/false).has_value();
  call["tool_calls"][0]["id"] = "call_zqzqzqzqzq";
  dialect.wants_short_ids = takes_call && !probe.Render(call, /*with_tools=*/false);
}

// The form in which the model writes calls; templates write earlier calls in another one.
CallForm HarmonyCalls() {
  return {.open = "<|channel|>commentary to=functions.",
          .middle = " <|constrain|>json<|message|>",
          .close = "",
          .next = ""};
}

// The form in its templates; nothing if this one does not write calls.
std::optional<CallForm> GemmaCalls(const Probe& probe) {
  CallForm form = {.open = "<|tool_call>call:",
                   .middle = "",
                   .close = "<tool_call|>",
                   .next = "<tool_call|><|tool_call>call:",
                   .quote = "<|\"|>"};
  const auto text = probe.Render(MessageWithCall({{"b", 1}, {"a", {"c"}}}), /*with_tools=*/false);
  const std::string call = form.open + std::string(kName) + "{a:[<|\"|>c<|\"|>],b:1}" + form.close;
  if (!text || !Has(*text, call)) return std::nullopt;
  return form;
}

bool IsBlank(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == ' ' || c == '\n'; });
}

// Templates join these tags from parts, so only their output distinguishes them.
Family FamilyOfTags(Family family, std::string_view written) {
  if (!IsDsml(family)) return family;
  for (const Family other : {Family::kDsml32, Family::kDsml, Family::kDsml41}) {
    if (Has(written, CallsOpen(other))) return other;
  }
  return family;
}

// Finds how the template takes arguments, its markup of calls, and the white space before them.
void ProbeCalls(const Probe& probe, Dialect& dialect) {
  const auto plain = probe.Render(MessageJson("assistant", kContent), /*with_tools=*/true);
  dialect.has_tools = plain && Has(*plain, kName);
  auto text = probe.Render(MessageWithCall(kArguments), /*with_tools=*/false);
  if (text && Has(*text, kArguments) && dialect.family != Family::kGemma) {
    dialect.arguments = ArgumentsAs::kText;
  } else {
    text = probe.Render(MessageWithCall({{"a", "b"}}), /*with_tools=*/false);
  }
  if (dialect.family == Family::kHarmony) {
    dialect.calls = HarmonyCalls();
    return;
  }
  if (text) dialect.family = FamilyOfTags(dialect.family, *text);
  const std::string_view open = CallsOpen(dialect.family);
  const std::string eos = probe.eos();
  const CallProbe calls = {
      .render = [&](const auto& answer) { return probe.Render(answer, /*with_tools=*/false); },
      .mark = dialect.family == Family::kLlama ? kLlamaCall : open,
      .eos = eos,
      .has_tags = HasTags(dialect.family),
      .takes_text = dialect.arguments == ArgumentsAs::kText};
  dialect.calls = dialect.family == Family::kGemma ? GemmaCalls(probe) : FindCallForm(calls);
  const bool breaks_lines = !dialect.calls || dialect.calls->value_open.ends_with('\n');
  if (dialect.family == Family::kQwenXml && !breaks_lines) dialect.family = Family::kMimo;
  if (!text || open.empty()) return;
  const auto lead = Between(*text, kContent, open);
  if (lead && IsBlank(*lead)) dialect.call_lead = *lead;
}

void ProbeReasoning(const Probe& probe, Dialect& dialect) {
  ordered_json message = MessageJson("assistant", kContent);
  message["reasoning_content"] = kReasoning;
  const auto text = probe.Render(message, /*with_tools=*/false);
  if (!text || !Has(*text, kReasoning)) {
    // The template does not write earlier reasoning; models write it on lines of its own.
    dialect.reasoning_open_tail = "\n";
    dialect.reasoning_close_lead = "\n";
    dialect.reasoning_close_tail = "\n\n";
    return;
  }
  const auto take = [&](std::string_view before, std::string_view after) -> std::string {
    const auto between = Between(*text, before, after);
    return between && IsBlank(*between) ? *between : "";
  };
  const std::string_view open = ReasoningOpen(dialect.family),
                         close = ReasoningClose(dialect.family);
  dialect.reasoning_open_tail = take(open, kReasoning);
  dialect.reasoning_close_lead = take(kReasoning, close);
  dialect.reasoning_close_tail = take(close, kContent);
}

}  // namespace

std::string_view FamilyName(Family family) {
  switch (family) {
    case Family::kPlain:
      return "plain";
    case Family::kHermes:
      return "Hermes";
    case Family::kLlama:
      return "Llama 3";
    case Family::kMistral:
      return "Mistral";
    case Family::kDeepSeek:
      return "DeepSeek V3";
    case Family::kDsml32:
      return "DeepSeek V3.2";
    case Family::kDsml:
      return "DeepSeek V4";
    case Family::kDsml41:
      return "DeepSeek V4.1";
    case Family::kGlm:
      return "GLM";
    case Family::kQwenXml:
      return "Qwen3 Coder";
    case Family::kMimo:
      return "MiMo";
    case Family::kKimi:
      return "Kimi";
    case Family::kMiniMax:
      return "MiniMax";
    case Family::kGemma:
      return "Gemma 4";
    case Family::kPhi:
      return "Phi 4 mini";
    case Family::kHarmony:
      return "Harmony";
  }
  return "?";
}

std::string_view CallsOpen(Family family) {
  switch (family) {
    case Family::kHermes:
    case Family::kGlm:
    case Family::kQwenXml:
    case Family::kMimo:
      return "<tool_call>";
    case Family::kGemma:
      return "<|tool_call>";
    case Family::kMistral:
      return "[TOOL_CALLS]";
    case Family::kPhi:
      return "<|tool_call|>";
    case Family::kDeepSeek:
      return "<｜tool▁calls▁begin｜>";
    case Family::kDsml32:
      return "<｜DSML｜function_calls>";
    case Family::kDsml:
      return "<｜DSML｜tool_calls>";
    case Family::kDsml41:
      return "<｜DSML｜ calls>";
    case Family::kKimi:
      return "<|tool_calls_section_begin|>";
    case Family::kMiniMax:
      return "<minimax:tool_call>";
    case Family::kHarmony:
      return " to=functions.";
    case Family::kPlain:
    case Family::kLlama:
      break;
  }
  return "";
}

bool WantsArgumentObjects(std::string_view source) { return FamilyOf(source) == Family::kGemma; }

std::string_view ReasoningOpen(Family family) {
  return family == Family::kGemma ? "<|channel>thought" : "<think>";
}

std::string_view ReasoningClose(Family family) {
  return family == Family::kGemma ? "<channel|>" : "</think>";
}

std::string_view AnswerOpen(Family family) {
  return family == Family::kHarmony ? "<|channel|>final<|message|>" : "";
}

bool EndsInReasoning(const Dialect& dialect, std::string_view prompt) {
  const size_t last = prompt.find_last_not_of(" \n");
  return dialect.has_reasoning && last != std::string_view::npos &&
         prompt.substr(0, last + 1).ends_with(ReasoningOpen(dialect.family));
}

std::string ReasoningEnd(const Dialect& dialect, std::string_view prompt) {
  if (!EndsInReasoning(dialect, prompt)) return "";
  return dialect.reasoning_close_lead + std::string(ReasoningClose(dialect.family)) +
         dialect.reasoning_close_tail;
}

Dialect FindDialect(std::string_view source, const jinja::ChatTemplate& chat_template,
                    const ordered_json& base) {
  Dialect dialect;
  dialect.family = FamilyOf(source);
  const bool is_harmony = dialect.family == Family::kHarmony;
  dialect.has_reasoning = is_harmony || Has(source, ReasoningOpen(dialect.family)) ||
                          Has(source, ReasoningClose(dialect.family));
  const Probe probe(chat_template, base);
  ProbeCalls(probe, dialect);
  ProbeConversations(probe, dialect);
  if (dialect.has_reasoning && !is_harmony) ProbeReasoning(probe, dialect);
  return dialect;
}

}  // namespace aster::chat
