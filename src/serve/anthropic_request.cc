// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include "serve/anthropic.h"
#include "serve/shared_fields.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

// What the blocks of one message come to: a message, and results of tools, which are messages of
// their own and stand before it.
struct Blocks {
  std::string text;
  std::string thinking;
  ordered_json calls = ordered_json::array();
  ordered_json results = ordered_json::array();
};

// One of the blocks; false where it makes no sense.
bool ReadBlock(const Fields& block, bool of_assistant, Blocks& blocks) {
  const std::string type = block.String("type").value_or("");
  if (type == "text") {
    const auto text = block.String("text");
    if (!text) block.Refuse("text", "is missing");
    blocks.text += text.value_or("");
  } else if (type == "thinking" && of_assistant) {
    blocks.thinking += block.String("thinking").value_or("");
  } else if (type == "redacted_thinking" && of_assistant) {
    // Nobody can read it.
  } else if (type == "tool_use" && of_assistant) {
    const auto name = block.String("name");
    const ordered_json* input = block.Object("input");
    if (!name) block.Refuse("name", "is missing");
    if (input == nullptr) block.Refuse("input", "is missing");
    if (block.problem().any()) return false;
    blocks.calls.push_back({{"id", block.String("id").value_or("")},
                            {"type", "function"},
                            {"function", {{"name", *name}, {"arguments", *input}}}});
  } else if (type == "tool_result" && !of_assistant) {
    const auto id = block.String("tool_use_id");
    if (!id) block.Refuse("tool_use_id", "is missing");
    blocks.results.push_back({{"role", "tool"},
                              {"tool_call_id", id.value_or("")},
                              {"content", ReadContent(block, "content")}});
  } else {
    block.Refuse("type", fmt::format("\"{}\" is not supported here", type));
  }
  return !block.problem().any();
}

void ReadOne(const Fields& message, Ask& ask) {
  const std::string role = message.String("role").value_or("");
  if (role != "user" && role != "assistant") {
    return message.Refuse("role",
                          "give user or assistant; the system prompt is a field of its own");
  }
  const ordered_json* content = message.Find("content");
  Blocks blocks;
  if (content != nullptr && content->is_string()) {
    blocks.text = content->get<std::string>();
  } else if (content != nullptr && content->is_array()) {
    for (size_t i = 0; i < content->size(); ++i) {
      const std::string path = message.PathOf(fmt::format("content[{}]", i));
      if (!(*content)[i].is_object())
        return message.problem().Set(400, path, path + ": give an object");
      if (!ReadBlock(Fields((*content)[i], message.problem(), path + "."), role == "assistant",
                     blocks))
        return;
    }
  } else {
    return message.Refuse("content", "give a text or a list of blocks");
  }
  for (ordered_json& result : blocks.results) ask.messages.push_back(std::move(result));
  if (!blocks.results.empty() && blocks.text.empty()) return;
  ordered_json out = {{"role", role}, {"content", blocks.text}};
  if (!blocks.thinking.empty()) out["reasoning_content"] = blocks.thinking;
  if (!blocks.calls.empty()) out["tool_calls"] = std::move(blocks.calls);
  ask.messages.push_back(std::move(out));
}

void ReadMessages(const Fields& fields, Ask& ask) {
  if (fields.Find("system") != nullptr) {
    const std::string system = ReadContent(fields, "system");
    if (!system.empty()) ask.messages.push_back({{"role", "system"}, {"content", system}});
  }
  const ordered_json* messages = fields.Array("messages");
  if (messages == nullptr || messages->empty()) {
    return fields.Refuse("messages", "give at least one message");
  }
  for (size_t i = 0; i < messages->size() && !fields.problem().any(); ++i) {
    const std::string path = fmt::format("messages[{}]", i);
    if (!(*messages)[i].is_object()) return fields.Refuse(path, "give an object");
    ReadOne(Fields((*messages)[i], fields.problem(), path + "."), ask);
  }
  if (fields.problem().any()) return;
  if (ask.messages.back()["role"] == "assistant") {
    fields.Refuse("messages",
                  "the last message has to be the user's: prefilled answers are not supported");
  }
}

// Tools that Anthropic's models know without being told.
std::string WhyNotOfType(const std::string& type) {
  for (const char* client : {"bash_", "text_editor_", "computer_", "memory_"}) {
    if (type.starts_with(client)) {
      return type + ": this model does not know it; describe it as a custom tool with input_schema";
    }
  }
  return type + ": the server runs no tools itself; give custom ones";
}

void ReadAnthropicTools(const Fields& fields, Ask& ask) {
  const ordered_json* tools = fields.Array("tools");
  if (tools == nullptr || tools->empty()) return;
  if (tools->size() > kMaxTools)
    return fields.Refuse("tools", fmt::format("at most {}", kMaxTools));
  ask.tools = ordered_json::array();
  for (size_t i = 0; i < tools->size(); ++i) {
    const std::string path = fmt::format("tools[{}]", i);
    if (!(*tools)[i].is_object()) return fields.Refuse(path, "give an object");
    const Fields tool((*tools)[i], fields.problem(), path + ".");
    const std::string type = tool.String("type").value_or("custom");
    if (type != "custom") return tool.Refuse("type", WhyNotOfType(type));
    const auto name = tool.String("name");
    const ordered_json* schema = tool.Object("input_schema");
    if (!name || name->empty()) return tool.Refuse("name", "is missing");
    if (schema == nullptr) return tool.Refuse("input_schema", "is missing");
    ordered_json function = {{"name", *name}};
    if (const auto text = tool.String("description")) function["description"] = *text;
    function["parameters"] = *schema;
    if (tool.Bool("strict").value_or(false)) ask.strict_tools.push_back(*name);
    ask.tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
}

void ReadAnthropicChoice(const Fields& fields, Ask& ask) {
  const ordered_json* choice = fields.Object("tool_choice");
  if (choice == nullptr) return;
  const Fields inner(*choice, fields.problem(), "tool_choice.");
  const std::string type = inner.String("type").value_or("");
  ask.parallel_calls = !inner.Bool("disable_parallel_tool_use").value_or(false);
  if (type == "none") {
    ask.tool_choice = ToolChoice::kNone;
  } else if (type == "any" || type == "tool") {
    if (ask.tools.is_null()) return inner.Refuse("type", "there are no tools");
    ask.tool_choice = type == "any" ? ToolChoice::kRequired : respond::ToolChoice::kNamed;
    ask.tool_name = inner.String("name").value_or("");
    const bool known = std::ranges::any_of(ask.tools, [&](const ordered_json& tool) {
      return tool["function"]["name"] == ask.tool_name;
    });
    if (type == "tool" && !known) inner.Refuse("name", "is none of the tools");
  } else if (type != "auto") {
    inner.Refuse("type", "is none of auto, any, tool, none");
  }
}

void ReadThinking(const Fields& fields, Ask& ask) {
  const ordered_json* thinking = fields.Object("thinking");
  if (thinking == nullptr) return SetThinking(false, ask);
  const Fields inner(*thinking, fields.problem(), "thinking.");
  const std::string type = inner.String("type").value_or("");
  if (type != "enabled" && type != "disabled" && type != "adaptive") {
    return inner.Refuse("type", "is none of enabled, adaptive, disabled");
  }
  // Models do not know budgets; the field is accepted so that clients need not know that.
  static_cast<void>(inner.Integer("budget_tokens", 1, INT64_MAX));
  SetThinking(type != "disabled", ask);
}

// How hard to think, of whoever thinks at all.
void ReadOutputEffort(const Fields& fields, Ask& ask) {
  const ordered_json* config = fields.Object("output_config");
  if (config != nullptr)
    ReadEffort(Fields(*config, fields.problem(), "output_config."), "effort", ask);
}

// The form of the answer, where it had its place first and where it has it now.
void ReadOutputFormat(const Fields& fields, Ask& ask) {
  const auto read = [&ask](const Fields& holder, const char* key) {
    const ordered_json* format = holder.Object(key);
    if (format == nullptr) return;
    ReadFormat(Fields(*format, holder.problem(), holder.PathOf(key) + "."), nullptr, ask);
  };
  read(fields, "output_format");
  const ordered_json* config = fields.Object("output_config");
  if (config != nullptr) read(Fields(*config, fields.problem(), "output_config."), "format");
}

}  // namespace

Ask ReadMessagesRequest(const ordered_json& body, const AskDefaults& defaults, bool only_counts,
                        Problem& problem) {
  const Fields fields(body, problem);
  Ask ask;
  ReadMessages(fields, ask);
  ReadSampling(fields, ask, defaults);
  const auto most = fields.Integer("max_tokens", 1, INT64_MAX);
  if (most) ask.max_tokens = static_cast<uint64_t>(*most);
  if (!most && !only_counts) fields.Refuse("max_tokens", "is missing");
  ReadStops(fields, "stop_sequences", ask);
  ask.streams = fields.Bool("stream").value_or(false);
  ReadAnthropicTools(fields, ask);
  ReadAnthropicChoice(fields, ask);
  ReadOutputEffort(fields, ask);
  ReadThinking(fields, ask);
  ReadOutputFormat(fields, ask);
  ReadBareForms(fields, ask);
  if (const ordered_json* metadata = fields.Object("metadata")) {
    ask.user = Fields(*metadata, problem, "metadata.").String("user_id").value_or("");
  }
  return ask;
}

}  // namespace aster::serve
