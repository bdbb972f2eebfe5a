// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/json_scanner.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_string.h"

namespace aster::chat {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::string EscapeOf(char control) {
  std::string quoted;
  AppendJsonString(quoted, {&control, 1});
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

JsonScanner::Verdict JsonScanner::EndValue() {
  if (stack_.empty()) return Verdict::kDone;
  state_ = State::kAfterValue;
  return Verdict::kMore;
}

JsonScanner::Verdict JsonScanner::Close(char opened) {
  if (stack_.empty() || stack_.back() != opened) return Verdict::kBad;
  stack_.pop_back();
  return EndValue();
}

JsonScanner::Verdict JsonScanner::Open(char c) {
  if (stack_.size() == kMaxDepth) return Verdict::kBad;
  stack_ += c;
  state_ = c == '{' ? State::kFirstKey : State::kFirstItem;
  return Verdict::kMore;
}

JsonScanner::Verdict JsonScanner::Begin(char c) {
  const auto go = [&](State state) {
    state_ = state;
    return Verdict::kMore;
  };
  const auto word = [&](std::string_view rest) {
    word_left_ = rest;
    return go(State::kWord);
  };
  if (IsJsonSpace(c)) return Verdict::kMore;
  if (c == '{' || c == '[') return Open(c);
  if (c == '"') {
    string_is_key_ = false;
    return go(State::kString);
  }
  if (c == 't') return word("rue");
  if (c == 'f') return word("alse");
  if (c == 'n') return word("ull");
  if (c == '-') return go(State::kMinus);
  if (c == '0') return go(State::kZero);
  return IsDigit(c) ? go(State::kInteger) : Verdict::kBad;
}

JsonScanner::Verdict JsonScanner::InString(char c) {
  if (state_ == State::kEscape) {
    constexpr std::string_view kEscapes = "\"\\/bfnrt";
    hex_left_ = 4;
    if (c != 'u' && kEscapes.find(c) == std::string_view::npos) return Verdict::kBad;
    state_ = c == 'u' ? State::kHex : State::kString;
    return Verdict::kMore;
  }
  if (state_ == State::kHex) {
    if (!IsHexDigit(c)) return Verdict::kBad;
    if (--hex_left_ == 0) state_ = State::kString;
    return Verdict::kMore;
  }
  if (c == '\\') state_ = State::kEscape;
  if (c != '"') return Verdict::kMore;
  if (!string_is_key_) return EndValue();
  state_ = State::kColon;
  return Verdict::kMore;
}

JsonScanner::Verdict JsonScanner::InNumber(char c) {
  const auto go = [&](State state) {
    state_ = state;
    return Verdict::kMore;
  };
  const bool digit = IsDigit(c);
  const bool is_e = c == 'e' || c == 'E';
  switch (state_) {
    case State::kMinus:
      if (c == '0') return go(State::kZero);
      return digit ? go(State::kInteger) : Verdict::kBad;
    case State::kPoint:
      return digit ? go(State::kFraction) : Verdict::kBad;
    case State::kE:
      if (c == '+' || c == '-') return go(State::kExponentSign);
      return digit ? go(State::kExponent) : Verdict::kBad;
    case State::kExponentSign:
      return digit ? go(State::kExponent) : Verdict::kBad;
    case State::kZero:
    case State::kInteger:
      if (digit && state_ == State::kInteger) return Verdict::kMore;
      if (c == '.') return go(State::kPoint);
      if (is_e) return go(State::kE);
      break;
    case State::kFraction:
      if (digit) return Verdict::kMore;
      if (is_e) return go(State::kE);
      break;
    default:
      if (digit) return Verdict::kMore;
  }
  if (stack_.empty()) return Verdict::kDoneBefore;
  return AfterValue(c);
}

JsonScanner::Verdict JsonScanner::AfterValue(char c) {
  state_ = State::kAfterValue;
  if (IsJsonSpace(c)) return Verdict::kMore;
  if (c == '}') return Close('{');
  if (c == ']') return Close('[');
  if (c != ',') return Verdict::kBad;
  state_ = stack_.back() == '{' ? State::kKey : State::kValue;
  return Verdict::kMore;
}

JsonScanner::Verdict JsonScanner::Feed(char c) {
  switch (state_) {
    case State::kValue:
      return Begin(c);
    case State::kFirstItem:
      return c == ']' ? Close('[') : Begin(c);
    case State::kFirstKey:
      if (c == '}') return Close('{');
      [[fallthrough]];
    case State::kKey:
      if (IsJsonSpace(c)) return Verdict::kMore;
      if (c != '"') return Verdict::kBad;
      string_is_key_ = true;
      state_ = State::kString;
      return Verdict::kMore;
    case State::kColon:
      if (IsJsonSpace(c)) return Verdict::kMore;
      if (c != ':') return Verdict::kBad;
      state_ = State::kValue;
      return Verdict::kMore;
    case State::kAfterValue:
      return AfterValue(c);
    case State::kString:
    case State::kEscape:
    case State::kHex:
      return InString(c);
    case State::kWord:
      if (c != word_left_.front()) return Verdict::kBad;
      word_left_.remove_prefix(1);
      return word_left_.empty() ? EndValue() : Verdict::kMore;
    default:
      return InNumber(c);
  }
}

std::string ControlEscaper::Escaped(std::string_view piece) {
  std::string escaped;
  for (const char c : piece) {
    const bool follows_backslash = std::exchange(after_backslash_, false);
    if (in_string_ && static_cast<unsigned char>(c) < 0x20) {
      // Nothing is written as a backslash and a control character: both are meant as they are.
      if (follows_backslash) escaped += '\\';
      escaped += EscapeOf(c);
      continue;
    }
    escaped += c;
    if (c == '"' && !follows_backslash) in_string_ = !in_string_;
    after_backslash_ = in_string_ && c == '\\' && !follows_backslash;
  }
  return escaped;
}

Result<std::string> DecodeJsonString(std::string_view json) {
  const auto value =
      nlohmann::json::parse(ControlEscaper().Escaped(json), nullptr, /*allow_exceptions=*/false);
  if (!value.is_string()) return InvalidArgument("not a JSON string");
  return value.get<std::string>();
}

}  // namespace aster::chat
