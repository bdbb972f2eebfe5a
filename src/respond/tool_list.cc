// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/tool_list.h"

#include <fmt/format.h>

#include <utility>

namespace aster::respond {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxNameBytes = 256;

// A function without parameters is called with {}.
ordered_json NoInput() {
  return {
      {"type", "object"}, {"properties", ordered_json::object()}, {"additionalProperties", false}};
}

// A custom tool takes a text: here, a function's only argument.
ordered_json TextInput() {
  return {{"type", "object"},
          {"properties", {{"input", {{"type", "string"}}}}},
          {"required", ordered_json::array({"input"})},
          {"additionalProperties", false}};
}

// The fields of one object. Null counts as absent; the first of the wrong kind is the error.
class ToolFields {
 public:
  ToolFields(const ordered_json& object, std::string path, std::optional<FieldError>& error)
      : object_(object), path_(std::move(path)), error_(error) {}

  const ordered_json* Find(const std::string& key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  std::optional<std::string> String(const char* key) const {
    const ordered_json* value = Find(key);
    if (value == nullptr) return std::nullopt;
    if (value->is_string()) return value->get<std::string>();
    Refuse(key, "give a text");
    return std::nullopt;
  }
  bool Bool(const char* key) const {
    const ordered_json* value = Find(key);
    if (value != nullptr && !value->is_boolean()) Refuse(key, "give true or false");
    return value != nullptr && value->is_boolean() && value->get<bool>();
  }
  const ordered_json* Object(const std::string& key) const {
    const ordered_json* value = Find(key);
    if (value == nullptr || value->is_object()) return value;
    Refuse(key, "give an object");
    return nullptr;
  }
  void Refuse(const std::string& key, std::string why) const {
    if (!error_) error_ = FieldError{path_ + key, std::move(why)};
  }

 private:
  const ordered_json& object_;
  const std::string path_;
  std::optional<FieldError>& error_;
};

// Reads one tool, and appends it to `tools`.
void ReadTool(const ordered_json& json, const std::string& path, std::optional<FieldError>& error,
              ToolList& tools) {
  const ToolFields tool(json, path + ".", error);
  const auto type = tool.String("type");
  if (!type) return tool.Refuse("type", "is missing; give function");
  if (*type != "function" && *type != "custom") {
    tools.left_out.push_back(*type);
    return;
  }
  // In the newer API the function's fields are in the tool itself.
  const bool is_inside = tool.Find(*type) != nullptr;
  const ordered_json* function = is_inside ? tool.Object(*type) : &json;
  if (function == nullptr) return;
  const ToolFields inner(*function, path + (is_inside ? "." + *type + "." : "."), error);
  const auto name = inner.String("name");
  if (!name || name->empty() || name->size() > kMaxNameBytes)
    return inner.Refuse("name", "is missing or too long");
  ordered_json written = {{"name", *name}};
  if (const auto text = inner.String("description")) written["description"] = *text;
  if (inner.Bool("strict")) tools.strict.push_back(*name);
  const ordered_json* parameters = inner.Object("parameters");
  written["parameters"] = parameters != nullptr ? *parameters
                          : *type == "custom"   ? TextInput()
                                                : NoInput();
  tools.tools.push_back({{"type", "function"}, {"function", std::move(written)}});
}

}  // namespace

std::optional<FieldError> ReadToolList(const ordered_json& list, ToolList& tools) {
  if (list.size() > kMaxTools) return FieldError{"tools", fmt::format("at most {}", kMaxTools)};
  tools = {.tools = ordered_json::array(), .strict = {}, .left_out = {}};
  std::optional<FieldError> error;
  for (size_t i = 0; i < list.size() && !error; ++i) {
    const std::string path = fmt::format("tools[{}]", i);
    if (!list[i].is_object()) return FieldError{path, "give an object"};
    ReadTool(list[i], path, error, tools);
  }
  if (tools.tools.empty()) tools.tools = nullptr;
  return error;
}

}  // namespace aster::respond
