// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/history.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/check.h"

namespace aster::chat {
namespace {

using nlohmann::ordered_json;

// The arguments of each call, with the path to them.
template <typename Json, typename Visit>
Status VisitArguments(Json& messages, const Visit& visit) {
  for (size_t i = 0; i < messages.size(); ++i) {
    auto& message = messages[i];
    if (!message.is_object() || !message.contains("tool_calls")) continue;
    auto& calls = message["tool_calls"];
    if (!calls.is_array()) continue;
    for (size_t j = 0; j < calls.size(); ++j) {
      auto& call = calls[j];
      if (!call.is_object()) continue;
      auto* function = &call;
      if (call.contains("function") && call["function"].is_object()) function = &call["function"];
      if (!function->contains("arguments")) continue;
      auto& arguments = (*function)["arguments"];
      if (!arguments.is_string()) continue;
      TRY(visit(fmt::format("messages[{}].tool_calls[{}].function.arguments", i, j), arguments));
    }
  }
  return Ok();
}

}  // namespace

ArgumentTexts::ArgumentTexts(const ordered_json& messages)
    : messages_(std::make_unique<ordered_json>(messages)), word_("zqarguments") {
  const std::string all = messages.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  while (all.find(word_) != std::string::npos) word_ += 'q';
  const Status status = VisitArguments(*messages_, [&](const std::string&, ordered_json& text) {
    texts_.push_back(text.get<std::string>());
    text = WordFor(texts_.size() - 1);
    return Ok();
  });
  CHECK(status.ok());
}

ArgumentTexts::~ArgumentTexts() = default;

// No word is the beginning of another.
std::string ArgumentTexts::WordFor(size_t index) const {
  return fmt::format("{}{}z", word_, index);
}

bool ArgumentTexts::AllStandIn(std::string_view prompt) const {
  for (size_t i = 0; i < texts_.size(); ++i) {
    const std::string word = WordFor(i);
    const size_t at = prompt.find(word);
    if (at == std::string_view::npos) return false;
    if (prompt.find(word, at + 1) != std::string_view::npos) return false;
  }
  return true;
}

std::string ArgumentTexts::PutBack(std::string_view prompt,
                                   const std::function<std::string(std::string_view)>& mark) const {
  std::string whole(prompt);
  for (size_t i = 0; i < texts_.size(); ++i) {
    const std::string word = WordFor(i);
    size_t at = whole.find(word);
    CHECK(at != std::string::npos);
    size_t size = word.size();
    const bool quoted = at > 0 && whole[at - 1] == '"' && whole.substr(at + size, 1) == "\"";
    if (quoted) {
      --at;
      size += 2;
    }
    whole.replace(at, size, mark(texts_[i]));
  }
  return whole;
}

Result<ordered_json> WithArgumentObjects(const ordered_json& messages) {
  ordered_json changed = messages;
  TRY(VisitArguments(changed, [](const std::string& path, ordered_json& arguments) -> Status {
    auto object = ordered_json::parse(arguments.get_ref<const std::string&>(), nullptr,
                                      /*allow_exceptions=*/false);
    if (!object.is_object()) {
      return InvalidArgument(path + " is not the text of a JSON object");
    }
    arguments = std::move(object);
    return Ok();
  }));
  return changed;
}

}  // namespace aster::chat
