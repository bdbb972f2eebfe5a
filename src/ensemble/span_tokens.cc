// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/span_tokens.h"

#include <algorithm>
#include <utility>

namespace aster::ensemble {
namespace {

// The longest beginnings of both, in tokens, with the same number of bytes.
std::pair<size_t, size_t> SharedBoundary(const text::Tokenizer& tokenizer,
                                         std::span<const int32_t> a, std::span<const int32_t> b) {
  std::pair<size_t, size_t> shared = {0, 0};
  size_t i = 0, j = 0, bytes_a = 0, bytes_b = 0;
  for (;;) {
    if (bytes_a == bytes_b) shared = {i, j};
    if (bytes_a <= bytes_b && i < a.size()) {
      bytes_a += BytesOf(tokenizer, a[i++]).size();
    } else if (bytes_b < bytes_a && j < b.size()) {
      bytes_b += BytesOf(tokenizer, b[j++]).size();
    } else {
      return shared;
    }
  }
}

// The member's tokens of a text after the prompt.
Result<std::vector<int32_t>> Encoded(const Member& member, const PreparedQuestion& question,
                                     const std::string& text) {
  auto behind = TRY(
      TokensBehind(member, question, question.is_text ? text : member.model.prompt->Marked(text)));
  // A text that would merge with the prompt's last token is encoded alone.
  if (!behind) return member.model.tokenizer->Encode(text, {});
  return *std::move(behind);
}

// Whether the tokens are the text in this vocabulary. Only the first ones may add a space.
bool Spells(const text::Tokenizer& tokenizer, std::span<const int32_t> tokens,
            const std::string& text, bool is_first) {
  std::string bytes;
  for (const int32_t token : tokens) bytes += BytesOf(tokenizer, token);
  return bytes == text || (is_first && bytes == " " + text);
}

}  // namespace

std::string_view BytesOf(const text::Tokenizer& tokenizer, int32_t token) {
  const auto bytes = tokenizer.TokenBytes(token);
  return bytes.ok() ? *bytes : std::string_view();
}

size_t ByteCount(const text::Tokenizer& tokenizer, std::span<const int32_t> tokens) {
  size_t count = 0;
  for (const int32_t token : tokens) count += BytesOf(tokenizer, token).size();
  return count;
}

Result<SpanTokens> TokensOfSpan(const Member& member, const PreparedQuestion& question,
                                const AgreedText& agreed, const Span& span) {
  SpanTokens own{.base = agreed.tokens.size()};
  const text::Tokenizer& tokenizer = *member.model.tokenizer;
  const auto written = std::span(span.tokens).first(span.tokens.size() - (span.has_ended ? 1 : 0));
  if (Spells(tokenizer, written, span.text, /*is_first=*/agreed.tokens.empty())) {
    // With the same vocabulary: the author's own tokens.
    own.tokens.assign(written.begin(), written.end());
  } else {
    // Its tokens are kept up to the last common token boundary.
    const std::vector<int32_t> whole = TRY(Encoded(member, question, agreed.text + span.text));
    const auto [kept, replaced] = SharedBoundary(tokenizer, agreed.tokens, whole);
    own.base = kept;
    own.tokens.assign(whole.begin() + static_cast<ptrdiff_t>(replaced), whole.end());
  }
  if (!span.has_ended) return own;
  const std::vector<text::TokenId>& ends = tokenizer.vocab().end_of_generation;
  const int32_t end = span.tokens.back();
  if (std::ranges::find(ends, end) != ends.end()) {
    own.tokens.push_back(end);
  } else if (!ends.empty()) {
    own.tokens.push_back(ends.front());
  }
  return own;
}

}  // namespace aster::ensemble
