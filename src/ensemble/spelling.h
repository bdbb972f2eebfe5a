// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A vocabulary's tokens in the order of their bytes, so that those with a common beginning are
// adjacent. Must not know models, nor texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace aster::ensemble {

// Constant; the tokenizer outlives it.
class Spelling {
 public:
  // Places in the order.
  struct Range {
    uint32_t begin = 0;
    uint32_t end = 0;

    bool is_empty() const { return begin == end; }
  };

  // Without control tokens and tokens without bytes, which are not text. `vocab_size` is the
  // model's.
  Spelling(const text::Tokenizer& tokenizer, uint32_t vocab_size);

  Range all() const { return {.begin = 0, .end = static_cast<uint32_t>(tokens_.size())}; }
  // `range` has tokens that begin with the same `depth` bytes and are longer: returns those whose
  // next byte is `byte`. Those that end there come first.
  Range Narrow(Range range, size_t depth, uint8_t byte) const;

  int32_t token(uint32_t place) const { return tokens_[place]; }
  std::string_view bytes(uint32_t place) const { return bytes_[place]; }
  // Tokens that end an answer.
  const std::vector<int32_t>& ends() const { return *ends_; }
  uint32_t vocab_size() const { return vocab_size_; }

 private:
  const std::vector<int32_t>* ends_;
  uint32_t vocab_size_;
  std::vector<int32_t> tokens_;          // [places]
  std::vector<std::string_view> bytes_;  // [places], the tokenizer's
};

}  // namespace aster::ensemble
