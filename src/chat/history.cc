// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/json_limits.h"
#include "base/random.h"

namespace aster::chat {
namespace {

using nlohmann::ordered_json;

// Calls `visit` with the arguments of each call and the path to them.
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

// A random word is in no message, tool or template.
ArgumentTexts::ArgumentTexts(const ordered_json& messages)
    : messages_(std::make_unique<ordered_json>(messages)),
      word_(fmt::format("zq{:016x}{:016x}arguments", SystemSeed(), SystemSeed())) {
  const Status status = VisitArguments(*messages_, [&](const std::string&, ordered_json& text) {
    texts_.push_back(text.get<std::string>());
    // No placeholder is the beginning of another.
    text = fmt::format("{}{}z", word_, texts_.size() - 1);
    return Ok();
  });
  CHECK(status.ok());
}

ArgumentTexts::~ArgumentTexts() = default;

// In the order of the prompt.
std::vector<ArgumentTexts::Place> ArgumentTexts::FindWords(std::string_view prompt) const {
  std::vector<Place> places;
  for (size_t at = prompt.find(word_); at != std::string_view::npos;) {
    const char* const digits = prompt.data() + at + word_.size();
    const char* const end = prompt.data() + prompt.size();
    size_t index = 0;
    const auto parsed = std::from_chars(digits, end, index);
    const bool is_one = parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == 'z' &&
                        index < texts_.size();
    const size_t size = is_one ? static_cast<size_t>(parsed.ptr + 1 - digits) + word_.size() : 1;
    if (is_one) places.push_back({.index = index, .at = at, .size = size});
    at = prompt.find(word_, at + size);
  }
  return places;
}

bool ArgumentTexts::AllStandIn(std::string_view prompt) const {
  std::vector<bool> stands(texts_.size(), false);
  const std::vector<Place> places = FindWords(prompt);
  for (const Place& place : places) stands[place.index] = true;
  return places.size() == texts_.size() && std::ranges::find(stands, false) == stands.end();
}

std::string ArgumentTexts::Restore(std::string_view prompt,
                                   const std::function<std::string(std::string_view)>& mark) const {
  std::string whole;
  size_t begin = 0;  // of the text that is not written yet
  for (const Place& place : FindWords(prompt)) {
    const size_t end = place.at + place.size;
    const bool quoted = place.at > begin && prompt[place.at - 1] == '"' && end < prompt.size() &&
                        prompt[end] == '"';
    whole += prompt.substr(begin, place.at - begin - (quoted ? 1 : 0));
    whole += mark(texts_[place.index]);
    begin = end + (quoted ? 1 : 0);
  }
  whole += prompt.substr(begin);
  return whole;
}

Result<ordered_json> WithArgumentObjects(const ordered_json& messages) {
  ordered_json changed = messages;
  JsonLimits limits;
  TRY(VisitArguments(changed, [&](const std::string& path, ordered_json& arguments) -> Status {
    const auto& text = arguments.get_ref<const std::string&>();
    TRY(limits.Check(text).In(path));
    auto object = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object()) {
      return InvalidArgument(path + " is not the text of a JSON object");
    }
    arguments = std::move(object);
    return Ok();
  }));
  return changed;
}

}  // namespace aster::chat
