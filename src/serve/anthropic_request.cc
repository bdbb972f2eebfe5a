// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include "respond/tool_list.h"
#include "serve/anthropic.h"
#include "serve/shared_fields.h"
#include "serve/tool_fields.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

// The blocks of one message become a message and, before it, results of tools as messages of their
// own.
struct Blocks {
  std::string text;
  std::string thinking;
  ordered_json calls = ordered_json::array();
  ordered_json results = ordered_json::array();
};

// A document that is a text, or consists of texts.
void ReadDocument(const Fields& block, Blocks& blocks) {
  const ordered_json* source = block.Object("source");
  if (source == nullptr) return block.Refuse("source", "is missing");
  const Fields inner(*source, block.problem(), block.PathOf("source."));
  const std::string type = inner.String("type").value_or("");
  const bool is_text = type == "text";
  if (!is_text && type != "content")
    return inner.Refuse("type", fmt::format("this model reads texts, not \"{}\"", type));
  const std::string title = block.String("title").value_or("");
  if (!title.empty()) blocks.text += title + "\n";
  blocks.text += ReadContent(inner, is_text ? "data" : "content") + "\n";
}

// One of the blocks; false if it is invalid.
bool ReadBlock(const Fields& block, bool of_assistant, ApiRequest& request, Blocks& blocks) {
  const std::string type = block.String("type").value_or("");
  if (type == "text") {
    const auto text = block.String("text");
    if (!text) block.Refuse("text", "is missing");
    blocks.text += text.value_or("");
  } else if (type == "thinking" && of_assistant) {
    blocks.thinking += block.String("thinking").value_or("");
  } else if (type == "document" && !of_assistant) {
    ReadDocument(block, blocks);
  } else if (type == "redacted_thinking" && of_assistant) {
    // It is encrypted for Anthropic.
  } else if (type == "tool_use" && of_assistant) {
    const auto name = block.String("name");
    const ordered_json* input = block.Object("input");
    if (!name) block.Refuse("name", "is missing");
    if (input == nullptr) block.Refuse("input", "is missing");
    if (block.problem().any()) return false;
    const std::string id = block.String("id").value_or("");
    request.call_ids.insert(id);
    blocks.calls.push_back(
        {{"id", id}, {"type", "function"}, {"function", {{"name", *name}, {"arguments", *input}}}});
  } else if (type == "tool_result" && !of_assistant) {
    const auto id = block.String("tool_use_id");
    if (!id) block.Refuse("tool_use_id", "is missing");
    if (id && !request.call_ids.contains(*id))
      block.Refuse("tool_use_id", fmt::format("no tool_use before it has the id {}", *id));
    blocks.results.push_back({{"role", "tool"},
                              {"tool_call_id", id.value_or("")},
                              {"content", ReadContent(block, "content")}});
  } else {
    block.Refuse("type", fmt::format("\"{}\" is not supported here", type));
  }
  return !block.problem().any();
}

void ReadOne(const Fields& message, ApiRequest& request) {
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
                     request, blocks))
        return;
    }
  } else {
    return message.Refuse("content", "give a text or a list of blocks");
  }
  for (ordered_json& result : blocks.results) request.messages.push_back(std::move(result));
  if (!blocks.results.empty() && blocks.text.empty()) return;
  ordered_json out = {{"role", role}, {"content", blocks.text}};
  if (!blocks.thinking.empty()) out["reasoning_content"] = blocks.thinking;
  if (!blocks.calls.empty()) out["tool_calls"] = std::move(blocks.calls);
  request.messages.push_back(std::move(out));
}

void ReadAnthropicMessages(const Fields& fields, ApiRequest& request) {
  if (fields.Find("system") != nullptr) {
    const std::string system = ReadContent(fields, "system");
    if (!system.empty()) request.messages.push_back({{"role", "system"}, {"content", system}});
  }
  const ordered_json* messages = fields.Array("messages");
  if (messages == nullptr || messages->empty()) {
    return fields.Refuse("messages", "give at least one message");
  }
  for (size_t i = 0; i < messages->size() && !fields.problem().any(); ++i) {
    const std::string path = fmt::format("messages[{}]", i);
    if (!(*messages)[i].is_object()) return fields.Refuse(path, "give an object");
    ReadOne(Fields((*messages)[i], fields.problem(), path + "."), request);
  }
  if (fields.problem().any()) return;
  if (const auto call = FindUnansweredCall(request)) {
    return fields.Refuse("messages", fmt::format("the tool_use {} has no result; send its "
                                                 "tool_result in the next user message",
                                                 call->id));
  }
  // The answer continues the last message.
  request.continues = request.messages.back()["role"] == "assistant";
}

// Tools that Anthropic's models know without a schema, and that the client runs: [prefix of the
// type, schema of their input].
constexpr std::pair<std::string_view, const char*> kClientTools[] = {
    {"bash_", R"({"type": "object", "properties": {"command": {"type": "string"},
        "restart": {"type": "boolean"}}})"},
    {"text_editor_", R"({"type": "object", "properties": {
        "command": {"enum": ["view", "create", "str_replace", "insert"]},
        "path": {"type": "string"}, "file_text": {"type": "string"}, "old_str": {"type": "string"},
        "new_str": {"type": "string"}, "insert_line": {"type": "integer"},
        "insert_text": {"type": "string"}, "view_range": {"type": "array",
        "items": {"type": "integer"}}}, "required": ["command", "path"]})"},
    {"computer_", R"({"type": "object", "properties": {"action": {"type": "string"},
        "coordinate": {"type": "array", "items": {"type": "integer"}},
        "text": {"type": "string"}}, "required": ["action"]})"},
    {"memory_", R"({"type": "object", "properties": {
        "command": {"enum": ["view", "create", "str_replace", "insert", "delete", "rename"]},
        "path": {"type": "string"}, "file_text": {"type": "string"}, "old_str": {"type": "string"},
        "new_str": {"type": "string"}, "insert_line": {"type": "integer"},
        "insert_text": {"type": "string"}, "old_path": {"type": "string"},
        "new_path": {"type": "string"}}, "required": ["command"]})"}};

// The schema of a tool's input; null if Anthropic's servers would run it.
ordered_json SchemaOf(const Fields& tool, const std::string& type) {
  if (type == "custom") {
    const ordered_json* schema = tool.Object("input_schema");
    if (schema == nullptr) tool.Refuse("input_schema", "is missing");
    return schema == nullptr ? ordered_json() : *schema;
  }
  for (const auto& [begin, schema] : kClientTools) {
    if (type.starts_with(begin)) return ordered_json::parse(schema);
  }
  return {};
}

void ReadAnthropicTools(const Fields& fields, ApiRequest& request) {
  const ordered_json* tools = fields.Array("tools");
  if (tools == nullptr || tools->empty()) return;
  if (tools->size() > respond::kMaxTools)
    return fields.Refuse("tools", fmt::format("at most {}", respond::kMaxTools));
  request.tools = ordered_json::array();
  for (size_t i = 0; i < tools->size(); ++i) {
    const std::string path = fmt::format("tools[{}]", i);
    if (!(*tools)[i].is_object()) return fields.Refuse(path, "give an object");
    const Fields tool((*tools)[i], fields.problem(), path + ".");
    const std::string type = tool.String("type").value_or("custom");
    const ordered_json schema = SchemaOf(tool, type);
    if (fields.problem().any()) return;
    const auto name = tool.String("name");
    if (!name || name->empty()) return tool.Refuse("name", "is missing");
    if (schema.is_null()) {
      request.left_out_tools.push_back(type);
      continue;
    }
    ordered_json function = {{"name", *name}};
    if (const auto text = tool.String("description")) function["description"] = *text;
    function["parameters"] = schema;
    if (tool.Bool("strict").value_or(false)) request.strict_tools.push_back(*name);
    request.tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  if (request.tools.empty()) request.tools = nullptr;
}

void ReadAnthropicChoice(const Fields& fields, ApiRequest& request) {
  const ordered_json* choice = fields.Object("tool_choice");
  if (choice == nullptr) return;
  const Fields inner(*choice, fields.problem(), "tool_choice.");
  const std::string type = inner.String("type").value_or("");
  request.parallel_calls = !inner.Bool("disable_parallel_tool_use").value_or(false);
  if (type == "none") {
    request.tool_choice = ToolChoice::kNone;
  } else if (type == "any" || type == "tool") {
    if (request.tools.is_null()) return inner.Refuse("type", "there are no tools");
    request.tool_choice = type == "any" ? ToolChoice::kRequired : respond::ToolChoice::kNamed;
    request.tool_name = inner.String("name").value_or("");
    const bool known = std::ranges::any_of(request.tools, [&](const ordered_json& tool) {
      return tool["function"]["name"] == request.tool_name;
    });
    if (type == "tool" && !known) inner.Refuse("name", "is none of the tools");
  } else if (type != "auto") {
    inner.Refuse("type", "is none of auto, any, tool, none");
  }
}

void ReadThinking(const Fields& fields, ApiRequest& request) {
  const ordered_json* thinking = fields.Object("thinking");
  if (thinking == nullptr) return SetReasoning(false, request);
  const Fields inner(*thinking, fields.problem(), "thinking.");
  const std::string type = inner.String("type").value_or("");
  if (type != "enabled" && type != "disabled" && type != "adaptive") {
    return inner.Refuse("type", "is none of enabled, adaptive, disabled");
  }
  // Models do not know budgets; the field is accepted for clients that always send it.
  static_cast<void>(inner.Integer("budget_tokens", 1, INT64_MAX));
  SetReasoning(type != "disabled", request);
}

// The reasoning effort, if the model can reason.
void ReadOutputEffort(const Fields& fields, ApiRequest& request) {
  const ordered_json* config = fields.Object("output_config");
  if (config != nullptr)
    ReadEffort(Fields(*config, fields.problem(), "output_config."), "effort", request);
}

// The form of the answer, in its earlier and its present field.
void ReadOutputFormat(const Fields& fields, ApiRequest& request) {
  const auto read = [&request](const Fields& holder, const char* key) {
    const ordered_json* format = holder.Object(key);
    if (format == nullptr) return;
    ReadFormat(Fields(*format, holder.problem(), holder.PathOf(key) + "."), nullptr, request);
  };
  read(fields, "output_format");
  const ordered_json* config = fields.Object("output_config");
  if (config != nullptr) read(Fields(*config, fields.problem(), "output_config."), "format");
}

}  // namespace

ApiRequest ReadMessagesRequest(const ordered_json& body, const RequestDefaults& defaults,
                               bool only_counts, Problem& problem) {
  const Fields fields(body, problem);
  ApiRequest request;
  ReadAnthropicMessages(fields, request);
  ReadSampling(fields, request, defaults);
  const auto most = fields.Integer("max_tokens", 1, INT64_MAX);
  if (most) request.max_tokens = static_cast<uint64_t>(*most);
  if (!most && !only_counts) fields.Refuse("max_tokens", "is missing");
  ReadStops(fields, "stop_sequences", request);
  request.streams = fields.Bool("stream").value_or(false);
  ReadAnthropicTools(fields, request);
  ReadAnthropicChoice(fields, request);
  ReadOutputEffort(fields, request);
  ReadThinking(fields, request);
  ReadOutputFormat(fields, request);
  ReadBareForms(fields, request);
  if (const ordered_json* metadata = fields.Object("metadata")) {
    request.user = Fields(*metadata, problem, "metadata.").String("user_id").value_or("");
  }
  return request;
}

}  // namespace aster::serve
