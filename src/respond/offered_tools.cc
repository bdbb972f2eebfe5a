// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/offered_tools.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "respond/tag_arguments.h"

namespace aster::respond {
namespace {

using nlohmann::ordered_json;

// Null if none of the tools has that name.
const ordered_json* FindFunction(const ordered_json& tools, std::string_view name) {
  for (const ordered_json& tool : tools) {
    const ordered_json& function = tool["function"];
    if (function["name"].get_ref<const std::string&>() == name) return &function;
  }
  return nullptr;
}

bool IsString(const ordered_json& function, std::string_view parameter, std::string_view value) {
  if (!function["parameters"].is_object()) return false;
  const ordered_json& parameters = function["parameters"];
  const auto properties = parameters.find("properties");
  if (properties == parameters.end() || !properties->is_object()) return false;
  const auto found = properties->find(std::string(parameter));
  if (found == properties->end() || !MayBe(*found, parameters, "string")) return false;
  // If the text is JSON of a type that the parameter allows, it has that type.
  const auto json = ordered_json::parse(value, nullptr, /*allow_exceptions=*/false);
  return !MayBe(*found, parameters, TypeOf(json));
}

}  // namespace

std::shared_ptr<const chat::Tools> OfferedTools(const ordered_json& tools) {
  const auto kept = std::make_shared<const ordered_json>(tools);
  return std::make_shared<const chat::Tools>(chat::Tools{
      .has_tool = [kept](std::string_view name) { return FindFunction(*kept, name) != nullptr; },
      .is_string =
          [kept](std::string_view name, std::string_view parameter, std::string_view value) {
            const ordered_json* function = FindFunction(*kept, name);
            return function != nullptr && IsString(*function, parameter, value);
          }});
}

}  // namespace aster::respond
