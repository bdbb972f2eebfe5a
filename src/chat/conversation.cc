// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/conversation.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

namespace aster::chat {
namespace {

using nlohmann::ordered_json;

constexpr size_t kShortIdSize = 9;
constexpr std::string_view kLetters =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

std::string TextOf(const ordered_json& message) {
  const auto content = message.find("content");
  return content != message.end() && content->is_string() ? content->get<std::string>() : "";
}

std::string Joined(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a + b;
  return a + "\n\n" + b;
}

// What was said by the system last of all stands behind what the user said before.
ordered_json WithoutSystem(const ordered_json& messages, bool keeps_first) {
  ordered_json fitted = ordered_json::array();
  std::string waiting;
  for (const ordered_json& message : messages) {
    const bool is_first = fitted.empty() && waiting.empty();
    if (message["role"] == "system" && !(keeps_first && is_first)) {
      waiting = Joined(waiting, TextOf(message));
      continue;
    }
    fitted.push_back(message);
    if (message["role"] != "user" || waiting.empty()) continue;
    fitted.back()["content"] = Joined(std::exchange(waiting, ""), TextOf(message));
  }
  if (waiting.empty()) return fitted;
  if (!fitted.empty() && fitted.back()["role"] == "user") {
    fitted.back()["content"] = Joined(TextOf(fitted.back()), waiting);
  } else {
    fitted.push_back({{"role", "user"}, {"content", waiting}});
  }
  return fitted;
}

void ShortenIn(ordered_json& object, const char* key) {
  const auto id = object.find(key);
  if (id != object.end() && id->is_string()) *id = ShortCallId(id->get_ref<std::string&>());
}

}  // namespace

std::string ShortCallId(std::string_view id) {
  const auto is_letter = [](char c) { return kLetters.find(c) != std::string_view::npos; };
  if (id.size() == kShortIdSize && std::ranges::all_of(id, is_letter)) return std::string(id);
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 64 bits
  for (const char c : id) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  std::string letters;
  for (; letters.size() < kShortIdSize; hash /= kLetters.size())
    letters += kLetters[hash % kLetters.size()];
  return letters;
}

ordered_json FittedMessages(const Dialect& dialect, ordered_json messages) {
  if (!dialect.takes_system || !dialect.takes_later_system)
    messages = WithoutSystem(messages, /*keeps_first=*/dialect.takes_system);
  if (!dialect.wants_short_ids) return messages;
  for (ordered_json& message : messages) {
    ShortenIn(message, "tool_call_id");
    const auto calls = message.find("tool_calls");
    if (calls == message.end() || !calls->is_array()) continue;
    for (ordered_json& call : *calls) ShortenIn(call, "id");
  }
  return messages;
}

ordered_json FilledTools(ordered_json tools) {
  if (!tools.is_array()) return tools;
  const auto describe = [](ordered_json& object) {
    if (!object.contains("description")) object["description"] = "";
  };
  for (ordered_json& tool : tools) {
    const auto found = tool.is_object() ? tool.find("function") : tool.end();
    if (found == tool.end() || !found->is_object()) continue;
    ordered_json& function = *found;
    describe(function);
    ordered_json& parameters = function["parameters"];
    if (!parameters.is_object()) parameters = {{"type", "object"}};
    ordered_json& properties = parameters["properties"];
    if (!properties.is_object()) properties = ordered_json::object();
    for (ordered_json& property : properties) {
      if (property.is_object()) describe(property);
    }
  }
  return tools;
}

}  // namespace aster::chat
