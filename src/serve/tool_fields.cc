// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/tool_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "respond/tool_list.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

// The names in a list of {"type": "function", "name"} or {…, "function": {"name"}}.
std::optional<std::vector<std::string>> NamesOf(const Fields& fields) {
  const ordered_json* list = fields.Array("tools");
  if (list == nullptr) return std::nullopt;
  std::vector<std::string> names;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string path = fields.PathOf(fmt::format("tools[{}]", i));
    const ordered_json& one = (*list)[i];
    const ordered_json inner =
        one.is_object() ? one.value("function", one) : ordered_json::object();
    if (!inner.is_object() || !inner.value("name", ordered_json()).is_string()) {
      fields.problem().Set(400, path, path + ": name one of the tools");
      return std::nullopt;
    }
    names.push_back(inner["name"].get<std::string>());
  }
  return names;
}

bool IsATool(const ApiRequest& request, std::string_view name) {
  return std::ranges::any_of(request.tools, [&](const ordered_json& tool) {
    return tool["function"]["name"].get_ref<const std::string&>() == name;
  });
}

// Keeps only the allowed tools.
void ReadAllowedTools(const Fields& choice, ApiRequest& request) {
  // Newer dialects leave out the object around them.
  const ordered_json* inside = choice.Object("allowed_tools");
  const Fields fields =
      inside == nullptr ? choice
                        : Fields(*inside, choice.problem(), choice.PathOf("allowed_tools") + ".");
  const std::string mode = fields.String("mode").value_or("auto");
  if (mode != "auto" && mode != "required") return fields.Refuse("mode", "give auto or required");
  const auto names = NamesOf(fields);
  if (fields.problem().any()) return;
  if (!names || names->empty()) return fields.Refuse("tools", "name at least one of the tools");
  ordered_json allowed = ordered_json::array();
  for (const std::string& name : *names) {
    if (!IsATool(request, name)) return fields.Refuse("tools", name + " is none of the tools");
  }
  for (const ordered_json& tool : request.tools) {
    const auto& name = tool["function"]["name"].get_ref<const std::string&>();
    if (std::ranges::find(*names, name) != names->end()) allowed.push_back(tool);
  }
  request.tools = std::move(allowed);
  if (mode == "required") request.tool_choice = ToolChoice::kRequired;
}

}  // namespace

std::optional<UnansweredCall> FindUnansweredCall(const ApiRequest& request) {
  // From the end: ids may be used again, and a result belongs to the calls before it.
  std::set<std::string> answered;
  std::optional<UnansweredCall> first;
  for (size_t i = request.messages.size(); i-- > 0;) {
    const ordered_json& message = request.messages[i];
    if (message["role"] == "tool") answered.insert(message.value("tool_call_id", ""));
    const auto calls = message.find("tool_calls");
    if (calls == message.end()) continue;
    for (auto call = calls->rbegin(); call != calls->rend(); ++call) {
      std::string id = call->value("id", "");
      if (!id.empty() && !answered.contains(id)) first = {.message = i, .id = std::move(id)};
    }
  }
  return first;
}

void ReadTools(const Fields& fields, ApiRequest& request) {
  const ordered_json* list = fields.Array("tools");
  if (list == nullptr) return;
  respond::ToolList tools;
  if (const auto error = respond::ReadToolList(*list, tools))
    return fields.Refuse(error->field, error->why);
  request.tools = std::move(tools.tools);
  request.strict_tools = std::move(tools.strict);
  request.left_out_tools = std::move(tools.left_out);
}

void ReadToolChoice(const Fields& fields, ApiRequest& request) {
  const ordered_json* choice = fields.Find("tool_choice");
  if (choice == nullptr || *choice == "auto") return;
  if (*choice == "none") {
    request.tool_choice = ToolChoice::kNone;
  } else if (*choice == "required") {
    request.tool_choice = ToolChoice::kRequired;
    if (request.tools.is_null()) fields.Refuse("tool_choice", "there are no tools");
  } else if (choice->is_object()) {
    const Fields inner(*choice, fields.problem(), fields.PathOf("tool_choice") + ".");
    if (inner.String("type") == "allowed_tools") return ReadAllowedTools(inner, request);
    const ordered_json* function = inner.Object("function");
    const auto name =
        function != nullptr
            ? Fields(*function, fields.problem(), "tool_choice.function.").String("name")
            : inner.String("name");
    if (!name || !IsATool(request, *name))
      return fields.Refuse("tool_choice", "name one of the tools");
    request.tool_choice = ToolChoice::kNamed;
    request.tool_name = *name;
  } else {
    fields.Refuse("tool_choice",
                  "give auto, none, required, a function, or allowed_tools with some of them");
  }
}

}  // namespace aster::serve
