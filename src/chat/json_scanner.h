// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Finds the end of one JSON value in text that comes byte by byte, so that its very bytes can be
// passed on at once. Must not know what the value is for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aster::chat {

// White space between JSON's values.
inline bool IsJsonSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// JSON by RFC 8259, except that strings may have control characters: models write line breaks
// there, which ControlEscaper makes JSON. Not for concurrent use.
class JsonScanner {
 public:
  enum class Verdict : uint8_t {
    kMore,        // the byte belongs to the value, which continues
    kDone,        // the byte ends the value
    kDoneBefore,  // the value ended before the byte (a number ends at another character)
    kBad,         // not JSON
  };
  // Levels of nesting; deeper values are bad.
  static constexpr size_t kMaxDepth = 256;

  // After anything except kMore, Feed must not be called again.
  Verdict Feed(char c);

 private:
  enum class State : uint8_t {
    kValue,
    kFirstItem,  // after [
    kFirstKey,   // after {
    kKey,        // after , in an object
    kColon,
    kAfterValue,
    kString,
    kEscape,
    kHex,
    kWord,   // true, false, null
    kMinus,  // of numbers: the last part
    kZero,
    kInteger,
    kPoint,
    kFraction,
    kE,
    kExponentSign,
    kExponent,
  };

  Verdict Begin(char c);
  Verdict EndValue();
  Verdict Close(char opened);
  Verdict InString(char c);
  Verdict InNumber(char c);
  Verdict AfterValue(char c);
  Verdict Open(char c);

  State state_ = State::kValue;
  bool string_is_key_ = false;
  uint32_t hex_left_ = 0;
  std::string_view word_left_;
  std::string stack_;  // open { and [
};

// Escapes the control characters within strings of JSON that comes in pieces, as parsers of JSON
// refuse them. All other bytes stay as they are. Not for concurrent use.
class ControlEscaper {
 public:
  std::string Escaped(std::string_view piece);

 private:
  bool in_string_ = false;
  bool after_backslash_ = false;
};

// The text of a JSON string with its quotes.
Result<std::string> DecodeJsonString(std::string_view json);

}  // namespace aster::chat
