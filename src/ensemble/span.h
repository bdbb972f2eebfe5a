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

// Why nothing can follow a span, if so.
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
  // The author's next token, if it had to be computed to see that the span ends.
  std::optional<EarlyToken> early = {};

  // An end is rated like a byte.
  uint64_t bytes() const { return text.size() + (has_ended || text.empty() ? 1 : 0); }
  // The next span of the same author.
  void Append(const Span& next) {
    text += next.text;
    has_ended = next.has_ended;
    limit = next.limit;
    early = next.early;
    tokens.insert(tokens.end(), next.tokens.begin(), next.tokens.end());
    logprobs.insert(logprobs.end(), next.logprobs.begin(), next.logprobs.end());
  }
  // Whether it has the same text, in whatever tokens.
  bool Says(const Span& other) const { return text == other.text && has_ended == other.has_ended; }
};

// The most tokens of a span, if nothing ends it.
inline constexpr uint32_t kMostSpanTokens = 48;
// The most tokens of the longest span: it ends with a whole character, up to three tokens later.
inline constexpr uint32_t kLongestSpanTokens = kMostSpanTokens + 4;

// Whether the bytes end within a UTF-8 character.
bool EndsWithinCharacter(std::string_view bytes);

// Finds the end of a span, token by token: after a line, before the space after a sentence, before
// a word once the span is long, or at its limit. Later tokens were written too early.
class SpanCutter {
 public:
  // Adds the bytes of the next token. Returns whether the span has its end.
  bool Push(std::string_view bytes);

  // Tokens of the span: up to the cut, or to its last whole character.
  size_t tokens() const { return tokens_; }

 private:
  std::string text_;     // whole characters
  std::string partial_;  // the rest
  size_t count_ = 0;     // pushed tokens
  size_t tokens_ = 0;    // of these, up to the last whole character
};

}  // namespace aster::ensemble
