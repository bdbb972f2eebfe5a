// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/tool_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxNameBytes = 256;

// A function without parameters is called with {}.
ordered_json NoInput() {
  return {
      {"type", "object"}, {"properties", ordered_json::object()}, {"additionalProperties", false}};
}

// A custom tool takes a text, which is a function's one argument here.
ordered_json TextInput() {
  return {{"type", "object"},
          {"properties", {{"input", {{"type", "string"}}}}},
          {"required", ordered_json::array({"input"})},
          {"additionalProperties", false}};
}

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

bool IsATool(const Ask& ask, std::string_view name) {
  return std::ranges::any_of(ask.tools, [&](const ordered_json& tool) {
    return tool["function"]["name"].get_ref<const std::string&>() == name;
  });
}

// Of all tools, these are left.
void ReadAllowedTools(const Fields& choice, Ask& ask) {
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
    if (!IsATool(ask, name)) return fields.Refuse("tools", name + " is none of the tools");
  }
  for (const ordered_json& tool : ask.tools) {
    const auto& name = tool["function"]["name"].get_ref<const std::string&>();
    if (std::ranges::find(*names, name) != names->end()) allowed.push_back(tool);
  }
  ask.tools = std::move(allowed);
  if (mode == "required") ask.tool_choice = ToolChoice::kRequired;
}

}  // namespace

bool HasCall(const Ask& ask, std::string_view id) {
  for (const ordered_json& message : ask.messages) {
    const auto calls = message.find("tool_calls");
    if (calls == message.end()) continue;
    for (const ordered_json& call : *calls) {
      if (call["id"] == id) return true;
    }
  }
  return false;
}

void ReadTools(const Fields& fields, Ask& ask) {
  const ordered_json* tools = fields.Array("tools");
  if (tools == nullptr || tools->empty()) return;
  if (tools->size() > kMaxTools)
    return fields.Refuse("tools", fmt::format("at most {}", kMaxTools));
  ask.tools = ordered_json::array();
  for (size_t i = 0; i < tools->size(); ++i) {
    const std::string path = fmt::format("tools[{}]", i);
    if (!(*tools)[i].is_object()) return fields.Refuse(path, "give an object");
    const Fields tool((*tools)[i], fields.problem(), path + ".");
    const auto type = tool.String("type");
    if (!type) return tool.Refuse("type", "is missing; give function");
    if (*type != "function" && *type != "custom") {
      // Its maker's servers would run it; the request is answered without.
      ask.left_out_tools.push_back(*type);
      continue;
    }
    // Of the newer dialect the function's fields stand in the tool itself.
    const bool is_inside = tool.Find(type->c_str()) != nullptr;
    const ordered_json* function = is_inside ? tool.Object(type->c_str()) : &tool.json();
    if (function == nullptr) return;
    const Fields inner(*function, fields.problem(), path + (is_inside ? "." + *type + "." : "."));
    const auto name = inner.String("name");
    if (!name || name->empty() || name->size() > kMaxNameBytes)
      return inner.Refuse("name", "is missing or too long");
    ordered_json written = {{"name", *name}};
    if (const auto text = inner.String("description")) written["description"] = *text;
    if (inner.Bool("strict").value_or(false)) ask.strict_tools.push_back(*name);
    const ordered_json* parameters = inner.Object("parameters");
    written["parameters"] = parameters != nullptr ? *parameters
                            : *type == "custom"   ? TextInput()
                                                  : NoInput();
    ask.tools.push_back({{"type", "function"}, {"function", std::move(written)}});
  }
  if (ask.tools.empty()) ask.tools = nullptr;
}

void ReadToolChoice(const Fields& fields, Ask& ask) {
  const ordered_json* choice = fields.Find("tool_choice");
  if (choice == nullptr || *choice == "auto") return;
  if (*choice == "none") {
    ask.tool_choice = ToolChoice::kNone;
  } else if (*choice == "required") {
    ask.tool_choice = ToolChoice::kRequired;
    if (ask.tools.is_null()) fields.Refuse("tool_choice", "there are no tools");
  } else if (choice->is_object()) {
    const Fields inner(*choice, fields.problem(), fields.PathOf("tool_choice") + ".");
    if (inner.String("type") == "allowed_tools") return ReadAllowedTools(inner, ask);
    const ordered_json* function = inner.Object("function");
    const auto name =
        function != nullptr
            ? Fields(*function, fields.problem(), "tool_choice.function.").String("name")
            : inner.String("name");
    if (!name || !IsATool(ask, *name)) return fields.Refuse("tool_choice", "name one of the tools");
    ask.tool_choice = ToolChoice::kNamed;
    ask.tool_name = *name;
  } else {
    fields.Refuse("tool_choice",
                  "give auto, none, required, a function, or allowed_tools with some of them");
  }
}

}  // namespace aster::serve
