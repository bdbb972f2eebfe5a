// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/transcript.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace aster::respond {
namespace {

using chat::Message;
using nlohmann::ordered_json;

constexpr int kFormatVersion = 1;
constexpr size_t kMaxMessages = 1 << 20;

Error Damaged(std::string_view what) {
  return InvalidArgument(fmt::format("not a conversation that /save has written: {}", what));
}

Result<std::string> StringAt(const ordered_json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (found == json.end() || !found->is_string()) {
    return Damaged(fmt::format("\"{}\" is missing or no text", key));
  }
  return found->get<std::string>();
}

Result<std::vector<Message>> MessagesOf(const ordered_json& json) {
  const auto found = json.find("messages");
  if (found == json.end() || !found->is_array() || found->size() > kMaxMessages) {
    return Damaged("\"messages\" is missing or no list");
  }
  std::vector<Message> messages;
  for (const ordered_json& item : *found) {
    messages.push_back({TRY(StringAt(item, "role")), TRY(StringAt(item, "content"))});
  }
  const size_t whole = WholeMessages(messages);
  if (whole == messages.size()) return messages;
  return Damaged(fmt::format("message {} of {} is no part of a question and its answer", whole,
                             messages.size()));
}

Result<std::vector<int32_t>> TokensOf(const ordered_json& json, uint32_t vocab_size) {
  const auto found = json.find("tokens");
  if (found == json.end() || !found->is_array()) {
    return Damaged("\"tokens\" is missing or no list");
  }
  std::vector<int32_t> tokens;
  for (const ordered_json& item : *found) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() >= vocab_size) {
      return Damaged("a token that this model does not have");
    }
    tokens.push_back(item.get<int32_t>());
  }
  return tokens;
}

// Whether a message of that role may follow one of another, or be the first (`before` empty).
bool MayFollow(std::string_view role, std::string_view before) {
  if (role == "user") return before.empty() || before == "assistant";
  if (role == "assistant") return before == "user" || before == "tool";
  return role == "tool" && (before == "assistant" || before == "tool");
}

}  // namespace

size_t WholeMessages(std::span<const Message> messages) {
  size_t whole = 0;
  std::string_view before;
  for (size_t i = 0; i < messages.size() && MayFollow(messages[i].role, before); ++i) {
    before = messages[i].role;
    if (before == "assistant") whole = i + 1;
  }
  return whole;
}

std::string WriteTranscript(const Transcript& transcript) {
  ordered_json messages = ordered_json::array();
  for (const Message& message : transcript.messages) {
    messages.push_back({{"role", message.role}, {"content", message.content}});
  }
  const ordered_json json = {{"aster_conversation", kFormatVersion},
                             {"vocab_size", transcript.vocab_size},
                             {"system", transcript.system},
                             {"messages", std::move(messages)},
                             {"text", transcript.marked},
                             {"tokens", transcript.tokens}};
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<Transcript> ReadTranscript(std::string_view text, uint32_t vocab_size) {
  const auto json = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto version = json.is_object() ? json.find("aster_conversation") : json.end();
  if (version == json.end()) return Damaged("\"aster_conversation\" is missing");
  if (*version != kFormatVersion) return Unimplemented("a newer version has written it");
  if (json.value("vocab_size", ordered_json()) != vocab_size) {
    return InvalidArgument("a conversation with a model of another vocabulary");
  }
  return Transcript{.vocab_size = vocab_size,
                    .system = TRY(StringAt(json, "system")),
                    .messages = TRY(MessagesOf(json)),
                    .marked = TRY(StringAt(json, "text")),
                    .tokens = TRY(TokensOf(json, vocab_size))};
}

}  // namespace aster::respond
