// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/conversation.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace aster::chat {
namespace {

using nlohmann::ordered_json;

constexpr size_t kShortIdSize = 9;
constexpr std::string_view kLetters =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

std::string TextOf(const ordered_json& message, const char* key = "content") {
  const auto text = message.find(key);
  return text != message.end() && text->is_string() ? text->get<std::string>() : "";
}

void AppendText(std::string& text, const std::string& more) {
  if (!text.empty() && !more.empty()) text += "\n\n";
  text += more;
}

std::string Joined(std::string a, const std::string& b) {
  AppendText(a, b);
  return a;
}

// A system message at the very end goes after the user's last text.
ordered_json WithoutSystem(const ordered_json& messages, bool keeps_first) {
  ordered_json fitted = ordered_json::array();
  std::string waiting;
  for (const ordered_json& message : messages) {
    const bool is_first = fitted.empty() && waiting.empty();
    if (message["role"] == "system" && !(keeps_first && is_first)) {
      AppendText(waiting, TextOf(message));
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

// The results that follow a message with calls.
class Results {
 public:
  explicit Results(std::vector<ordered_json> results) : results_(std::move(results)) {
    for (size_t i = 0; i < results_.size(); ++i)
      by_id_[TextOf(results_[i], "tool_call_id")].insert(i);
  }

  // The result of a call; the next one if ids do not tell, or null.
  ordered_json Take(const ordered_json& call) {
    const std::string id = TextOf(call, "id");
    const auto named = id.empty() ? by_id_.end() : by_id_.find(id);
    if (named != by_id_.end() && !named->second.empty()) return TakeAt(*named->second.begin());
    return TakeNext();
  }
  ordered_json TakeNext() {
    while (next_ < results_.size() && results_[next_].is_null()) ++next_;
    return next_ < results_.size() ? TakeAt(next_) : ordered_json();
  }

 private:
  ordered_json TakeAt(size_t index) {
    by_id_[TextOf(results_[index], "tool_call_id")].erase(index);
    return std::exchange(results_[index], nullptr);
  }

  std::vector<ordered_json> results_;              // null: taken
  std::map<std::string, std::set<size_t>> by_id_;  // those that are left
  size_t next_ = 0;
};

// Messages of one call each, with their results.
void AddSingleCalls(const ordered_json& message, std::vector<ordered_json> following,
                    ordered_json& fitted) {
  Results results(std::move(following));
  const ordered_json& calls = message["tool_calls"];
  // Only the first one has the message's texts: there may be many calls.
  for (size_t i = 0; i < calls.size(); ++i) {
    ordered_json one = {{"role", message["role"]}};
    if (i == 0) {
      one = message;
      // Templates take text and reasoning before a call together.
      one["thinking"] = Joined(TextOf(message, "reasoning_content"), TextOf(message));
      one.erase("reasoning_content");
    } else {
      one["thinking"] = "";
    }
    one["content"] = "";
    one["tool_calls"] = ordered_json::array({calls[i]});
    fitted.push_back(std::move(one));
    if (!calls[i].is_object()) continue;
    ordered_json result = results.Take(calls[i]);
    if (!result.is_null()) fitted.push_back(std::move(result));
  }
  for (ordered_json left = results.TakeNext(); !left.is_null(); left = results.TakeNext())
    fitted.push_back(std::move(left));
}

ordered_json WithSingleCalls(const ordered_json& messages) {
  ordered_json fitted = ordered_json::array();
  for (size_t i = 0; i < messages.size(); ++i) {
    const auto calls = messages[i].find("tool_calls");
    const bool has_calls = calls != messages[i].end() && calls->is_array() && !calls->empty();
    if (!has_calls) {
      fitted.push_back(messages[i]);
      fitted.back().erase("tool_calls");
      continue;
    }
    std::vector<ordered_json> results;
    const size_t at = i;
    while (i + 1 < messages.size() && messages[i + 1]["role"] == "tool")
      results.push_back(messages[++i]);
    AddSingleCalls(messages[at], std::move(results), fitted);
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
  if (dialect.family == Family::kHarmony) messages = WithSingleCalls(messages);
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
