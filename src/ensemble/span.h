// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A span of an answer that several models write together, and where it ends. Must not know models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aster::ensemble {

// Why nothing follows a span, if that is so.
enum class SpanLimit : uint8_t { kNone, kTokens, kContext };

struct EarlyToken {
  int32_t id = 0;
  float logprob = 0;
  std::string text = {};
};

struct Span {
  std::string text = {};   // whole characters
  bool has_ended = false;  // by itself: the last token ends the answer, and has no text
  SpanLimit limit = SpanLimit::kNone;
  std::vector<int32_t> tokens = {};  // the author's
  std::vector<float> logprobs = {};  // [tokens]
  // The author's next one, where it took that to know that the span ends.
  std::optional<EarlyToken> early = {};

  // An end is rated like a byte.
  uint64_t bytes() const { return text.size() + (has_ended || text.empty() ? 1 : 0); }
  // The author's next one.
  void Append(const Span& next) {
    text += next.text;
    has_ended = next.has_ended;
    limit = next.limit;
    early = next.early;
    tokens.insert(tokens.end(), next.tokens.begin(), next.tokens.end());
    logprobs.insert(logprobs.end(), next.logprobs.begin(), next.logprobs.end());
  }
  // Whether it says the same, in whatever tokens.
  bool Says(const Span& other) const { return text == other.text && has_ended == other.has_ended; }
};

// Tokens of a span that goes on where nothing ends it.
inline constexpr uint32_t kMostSpanTokens = 48;
// Tokens of the longest span: it ends where a character does, up to three tokens later.
inline constexpr uint32_t kLongestSpanTokens = kMostSpanTokens + 4;

// Whether the bytes end within a character of UTF-8 that begins in them.
bool EndsWithinCharacter(std::string_view bytes);

// Finds where a span ends, token by token: behind a line, before the space behind a sentence, and
// else before a word once it is long, or where it is too long. What follows was written too early.
class SpanCutter {
 public:
  // The bytes of the next token. Whether the span has its end.
  bool Push(std::string_view bytes);

  // Of the span: up to where it was cut, or to its last whole character.
  size_t tokens() const { return tokens_; }

 private:
  std::string text_;     // whole characters
  std::string partial_;  // what follows
  size_t count_ = 0;     // tokens that were pushed
  size_t tokens_ = 0;    // of them, behind which a character ends
};

}  // namespace aster::ensemble
