// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/call_form.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace aster::chat {
namespace {

using nlohmann::ordered_json;

// Words that no template writes by itself.
constexpr std::string_view kSaid = "zqsaid";
constexpr std::string_view kNames[] = {"zqnamea", "zqnameb"};
constexpr std::string_view kIds[] = {"zqidzqid0", "zqidzqid1"};
constexpr std::string_view kGiven = "zqgiven";
constexpr std::string_view kKeys[] = {"zqkeya", "zqkeyb"};
constexpr std::string_view kTexts[] = {"zqtexta", "zqtextb"};
constexpr int kNumber = 75319;
constexpr std::string_view kNumberText = "75319";

ordered_json Answer(std::initializer_list<ordered_json> arguments) {
  ordered_json calls = ordered_json::array();
  for (const ordered_json& one : arguments) {
    calls.push_back({{"id", kIds[calls.size()]},
                     {"type", "function"},
                     {"function", {{"name", kNames[calls.size()]}, {"arguments", one}}}});
  }
  return {{"role", "assistant"}, {"content", ""}, {"tool_calls", std::move(calls)}};
}

struct Span {
  size_t begin = 0;
  size_t end = 0;
};

std::optional<Span> Find(std::string_view text, std::string_view word, size_t from) {
  const size_t at = text.find(word, from);
  if (at == std::string_view::npos) return std::nullopt;
  return Span{at, at + word.size()};
}

std::optional<Span> FindLast(std::string_view text, std::string_view word) {
  const size_t at = text.rfind(word);
  if (at == std::string_view::npos) return std::nullopt;
  return Span{at, at + word.size()};
}

std::string Piece(std::string_view text, size_t begin, size_t end) {
  return std::string(text.substr(begin, end - begin));
}

size_t CommonSuffix(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first -
                             a.rbegin());
}

void PutIdsIn(std::string& piece) {
  for (const std::string_view id : kIds) {
    for (size_t at = piece.find(id); at != std::string::npos; at = piece.find(id))
      piece.replace(at, id.size(), 1, kIdHere);
  }
}

class FormFinder {
 public:
  explicit FormFinder(const CallProbe& probe) : probe_(probe) {}

  std::optional<CallForm> Find() {
    const auto plain = probe_.render({{"role", "assistant"}, {"content", kSaid}});
    const auto said = plain ? FindLast(*plain, kSaid) : std::nullopt;
    if (!said || probe_.mark.empty()) return std::nullopt;
    turn_end_ = plain->substr(said->end);
    form_.has_tags = probe_.has_tags;
    if (!(probe_.has_tags ? FindTags() : FindJson())) return std::nullopt;
    const size_t end = form_.close.find_last_not_of(" \n");
    form_.close.resize(end == std::string::npos ? 0 : end + 1);
    for (std::string* piece : {&form_.open, &form_.middle, &form_.close, &form_.next})
      PutIdsIn(*piece);
    return form_;
  }

 private:
  // Finds the opening of the calls and the name of the first one.
  std::optional<Span> Open(std::string_view text) {
    const auto name = FindLast(text, kNames[0]);
    const size_t begin = name ? text.rfind(probe_.mark, name->begin) : std::string_view::npos;
    if (begin == std::string_view::npos) return std::nullopt;
    form_.open = Piece(text, begin, name->begin);
    return name;
  }

  // The rest of `text` after the arguments, without the end of every turn.
  bool Close(std::string_view text) {
    if (text.ends_with(turn_end_)) {
      text.remove_suffix(turn_end_.size());
    } else if (const size_t at = probe_.eos.empty() ? text.npos : text.find(probe_.eos);
               at != text.npos) {
      text = text.substr(0, at);
    } else {
      return false;
    }
    form_.close = text;
    return true;
  }

  // The arguments as text or as an object, as the template expects.
  ordered_json Given() const {
    return probe_.takes_text ? ordered_json(kGiven) : ordered_json{{kKeys[0], kTexts[0]}};
  }
  std::optional<Span> FindGiven(std::string_view text, size_t from) const {
    if (!probe_.takes_text) {
      const auto key = aster::chat::Find(text, kKeys[0], from);
      if (!key) return std::nullopt;
      const size_t begin = text.rfind('{', key->begin);
      const size_t end = text.find('}', key->end);
      if (begin == text.npos || end == text.npos) return std::nullopt;
      return Span{begin, end + 1};
    }
    auto given = aster::chat::Find(text, kGiven, from);
    const bool quoted = given && given->begin > 0 && text[given->begin - 1] == '"' &&
                        text.substr(given->end, 1) == "\"";
    if (quoted) given = Span{given->begin - 1, given->end + 1};
    return given;
  }

  bool FindJson() {
    const auto text = probe_.render(Answer({Given()}));
    const auto name = text ? Open(*text) : std::nullopt;
    const auto given = name ? FindGiven(*text, name->end) : std::nullopt;
    if (!given || !Close(std::string_view(*text).substr(given->end))) return false;
    form_.middle = Piece(*text, name->end, given->begin);
    const auto both = probe_.render(Answer({Given(), Given()}));
    const auto first = both ? FindLast(*both, kNames[0]) : std::nullopt;
    const auto second = both ? FindLast(*both, kNames[1]) : std::nullopt;
    const auto first_given = first ? FindGiven(*both, first->end) : std::nullopt;
    const auto second_given = second ? FindGiven(*both, second->end) : std::nullopt;
    if (!first_given || !second_given || first_given->end > second->begin) return true;
    if (CountCalls(Piece(*both, second->end, second_given->begin)))
      form_.next = Piece(*both, first_given->end, second->begin);
    return true;
  }

  // Numbered calls differ only in their numbers. Digits of ids are not numbers.
  bool CountCalls(std::string second) {
    std::string& first = form_.middle;
    PutIdsIn(first);
    PutIdsIn(second);
    if (first == second) return true;
    const auto [a, b] = std::ranges::mismatch(first, second);
    if (a == first.end() || b == second.end() || *a != '0' || *b != '1') return false;
    if (std::string_view(a + 1, first.end()) != std::string_view(b + 1, second.end())) return false;
    *a = kNumberHere;
    return true;
  }

  bool FindTags() {
    const ordered_json two = {{kKeys[0], kTexts[0]}, {kKeys[1], kTexts[1]}};
    const auto text = probe_.render(Answer({two}));
    const auto name = text ? Open(*text) : std::nullopt;
    if (!name) return false;
    std::vector<Span> spans = {*name};
    for (const std::string_view word : {kKeys[0], kTexts[0], kKeys[1], kTexts[1]}) {
      const auto span = aster::chat::Find(*text, word, spans.back().end);
      if (!span) return false;
      spans.push_back(*span);
    }
    const std::string before = Piece(*text, spans[0].end, spans[1].begin);
    const std::string between = Piece(*text, spans[2].end, spans[3].begin);
    form_.value_open = Piece(*text, spans[1].end, spans[2].begin);
    form_.key_open = before.substr(before.size() - CommonSuffix(before, between));
    // A tag includes everything up to its own end.
    const size_t opens = form_.key_open.find_first_of("\n<");
    if (opens == std::string::npos) return false;
    form_.key_open.erase(0, opens);
    form_.middle = before.substr(0, before.size() - form_.key_open.size());
    form_.value_close = between.substr(0, between.size() - form_.key_open.size());
    const std::string_view rest = std::string_view(*text).substr(spans[4].end);
    if (form_.value_close.find('<') == std::string::npos || !rest.starts_with(form_.value_close))
      return false;
    if (!Close(rest.substr(form_.value_close.size()))) return false;
    FindNextTags();
    return FindOtherValues();
  }

  void FindNextTags() {
    const ordered_json given = {{kKeys[0], kTexts[0]}};
    const auto both = probe_.render(Answer({given, given}));
    const auto first = both ? FindLast(*both, kNames[0]) : std::nullopt;
    const auto second = both ? FindLast(*both, kNames[1]) : std::nullopt;
    const auto value = first ? aster::chat::Find(*both, kTexts[0], first->end) : std::nullopt;
    if (!value || !second || value->end > second->begin) return;
    const std::string next = Piece(*both, value->end, second->begin);
    if (next.starts_with(form_.value_close)) form_.next = next.substr(form_.value_close.size());
  }

  bool FindOtherValues() {
    const ordered_json given = {{kKeys[0], kNumber}};
    const auto text = probe_.render(Answer({given}));
    const auto key = text ? FindLast(*text, kKeys[0]) : std::nullopt;
    const auto number = key ? aster::chat::Find(*text, kNumberText, key->end) : std::nullopt;
    if (!number) return false;
    form_.json_open = Piece(*text, key->end, number->begin);
    return true;
  }

  const CallProbe& probe_;
  std::string turn_end_;
  CallForm form_;
};

}  // namespace

std::optional<CallForm> FindCallForm(const CallProbe& probe) { return FormFinder(probe).Find(); }

}  // namespace aster::chat
