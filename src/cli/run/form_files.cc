// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/run/form_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/json_limits.h"
#include "base/utf8.h"
#include "grammar/gbnf.h"
#include "grammar/json_schema.h"
#include "respond/json_error.h"
#include "respond/tool_list.h"

namespace aster::cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxJsonBytes = size_t{4} << 20;

// "line 3, column 7".
std::string PlaceOf(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, byte);
  const auto lines = std::ranges::count(before, '\n');
  return fmt::format("line {}, column {}", lines + 1, before.size() - (before.rfind('\n') + 1) + 1);
}

Result<ordered_json> ParseJson(std::string_view text) {
  if (!IsValidUtf8(text)) {
    return InvalidArgument(PlaceOf(text, ValidUtf8Prefix(text)) + ": not UTF-8; save it as UTF-8");
  }
  TRY(JsonLimits().Check(text).In("the JSON has"));
  ordered_json json = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_discarded()) return json;
  // The parser names the byte after the wrong one.
  const size_t wrong = std::max<size_t>(respond::FindJsonError(text), 1) - 1;
  return InvalidArgument(PlaceOf(text, wrong) + ": not JSON; correct it there");
}

Result<ordered_json> ReadJsonFile(const std::string& path) {
  return ParseJson(TRY(ReadFile(path, kMaxJsonBytes))).In(path);
}

}  // namespace

Result<std::shared_ptr<const grammar::Grammar>> ReadSchemaFile(const std::string& path) {
  return grammar::JsonSchemaGrammar(TRY(ReadJsonFile(path))).In(path);
}

Result<std::shared_ptr<const grammar::Grammar>> ReadGrammarFile(const std::string& path) {
  return grammar::ParseGbnf(TRY(ReadFile(path, grammar::kMaxGbnfBytes))).In(path);
}

Status ReadToolsFile(const std::string& path, respond::Conversation& conversation) {
  const ordered_json list = TRY(ReadJsonFile(path));
  if (!list.is_array()) return InvalidArgument("tools: give a list").In(path);
  respond::ToolList tools;
  if (const auto error = respond::ReadToolList(list, tools))
    return InvalidArgument(fmt::format("{}: {}", error->field, error->why)).In(path);
  if (!tools.left_out.empty()) {
    return InvalidArgument(
               fmt::format("only functions are supported as tools, not {}", tools.left_out.front()))
        .In(path);
  }
  if (tools.tools.is_null()) return InvalidArgument("no tools in it; list at least one").In(path);
  conversation.tools = std::move(tools.tools);
  conversation.strict_tools = std::move(tools.strict);
  return Ok();
}

}  // namespace aster::cli
