// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Finds the end of one JSON value in text that comes byte by byte, so that its very bytes can be
// passed on while they come. Must not know what the value is for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aster::chat {

// What may stand between JSON's values.
inline bool IsJsonSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// JSON as RFC 8259 has it, except that strings may hold control characters as they are: models
// write line breaks there, and the reader of the value sees the same bytes. Not for concurrent use.
class JsonScanner {
 public:
  enum class Verdict : uint8_t {
    kMore,        // the byte belongs to the value, which goes on
    kDone,        // the byte ended the value
    kDoneBefore,  // the value had ended before the byte (a number ends with what is none)
    kBad,         // no JSON
  };
  // Values within each other; beyond, they are bad.
  static constexpr size_t kMaxDepth = 256;

  // After anything but kMore, nothing more may be fed.
  Verdict Feed(char c);

 private:
  enum class State : uint8_t {
    kValue,
    kFirstItem,  // behind [
    kFirstKey,   // behind {
    kKey,        // behind , in an object
    kColon,
    kAfterValue,
    kString,
    kEscape,
    kHex,
    kWord,   // true, false, null
    kMinus,  // of numbers: what was last
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
  std::string stack_;  // { and [ that are open
};

// The text that a JSON string with its quotes stands for.
Result<std::string> DecodeJsonString(std::string_view json);

}  // namespace aster::chat
