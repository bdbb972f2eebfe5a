// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/spelling.h"

#include <algorithm>
#include <numeric>
#include <ranges>

namespace aster::ensemble {
namespace {

bool IsText(text::TokenType type) {
  return type == text::TokenType::kNormal || type == text::TokenType::kByte ||
         type == text::TokenType::kUserDefined;
}

}  // namespace

Spelling::Spelling(const text::Tokenizer& tokenizer, uint32_t vocab_size)
    : ends_(&tokenizer.vocab().end_of_generation), vocab_size_(vocab_size) {
  const text::Vocab& vocab = tokenizer.vocab();
  struct Spelt {
    std::string_view bytes;
    int32_t token;
  };
  std::vector<Spelt> all;
  for (uint32_t i = 0; i < std::min<size_t>(vocab.types.size(), vocab_size); ++i) {
    const auto token = static_cast<int32_t>(i);
    const auto bytes = tokenizer.TokenBytes(token);
    const bool is_text = bytes.ok() && !bytes->empty() && IsText(vocab.types[i]);
    if (is_text && !vocab.IsEndOfGeneration(token)) all.push_back({*bytes, token});
  }
  // A text comes before longer ones; equal ones are ordered by token.
  std::ranges::stable_sort(all, {}, &Spelt::bytes);
  for (const auto& [bytes, token] : all) {
    bytes_.push_back(bytes);
    tokens_.push_back(token);
  }
}

Spelling::Range Spelling::Narrow(Range range, size_t depth, uint8_t byte) const {
  const auto places = std::views::iota(range.begin, range.end);
  const auto byte_at = [&](uint32_t place) { return static_cast<uint8_t>(bytes_[place][depth]); };
  const auto found = std::ranges::equal_range(places, byte, {}, byte_at);
  return {.begin = range.begin + static_cast<uint32_t>(found.begin() - places.begin()),
          .end = range.begin + static_cast<uint32_t>(found.end() - places.begin())};
}

}  // namespace aster::ensemble
