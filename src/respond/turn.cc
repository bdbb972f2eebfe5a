// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/turn.h"

#include <vector>

namespace aster::respond {
namespace {

using nlohmann::ordered_json;

ordered_json CallsJson(const std::vector<Call>& calls) {
  ordered_json list = ordered_json::array();
  for (const Call& call : calls) {
    list.push_back({{"id", call.id},
                    {"type", "function"},
                    {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  return list;
}

// An answer in the form of templates. Text alone is as the model wrote it.
ordered_json AnswerJson(const std::string& text, const Reply& reply) {
  if (reply.reasoning.empty() && reply.calls.empty())
    return {{"role", "assistant"}, {"content", text}};
  ordered_json json = {{"role", "assistant"}, {"content", reply.content}};
  if (!reply.reasoning.empty()) json["reasoning_content"] = reply.reasoning;
  if (!reply.calls.empty()) json["tool_calls"] = CallsJson(reply.calls);
  return json;
}

}  // namespace

Turn QuestionTurn(const std::string& text) {
  return {.said = {"user", text}, .shown = {{"role", "user"}, {"content", text}}};
}

Turn AnswerTurn(const std::string& text, const Reply& reply) {
  return {.said = {"assistant", text}, .shown = AnswerJson(text, reply)};
}

Turn ResultTurn(const Call& call, const std::string& result) {
  return {
      .said = {"tool", result},
      .shown = {
          {"role", "tool"}, {"tool_call_id", call.id}, {"name", call.name}, {"content", result}}};
}

}  // namespace aster::respond
