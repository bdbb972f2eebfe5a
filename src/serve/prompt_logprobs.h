// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The log-probabilities that a model gives to the tokens of a prompt, of the logits behind each.
// Must not know requests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/sampler.h"
#include "respond/reply.h"
#include "text/tokenizer.h"

namespace aster::serve {

// Not for concurrent use.
class PromptLogprobs {
 public:
  // Beside each token the `top` likeliest ones. The tokenizer outlives it; `is_added` tells whether
  // the first token stands for nothing of the text.
  PromptLogprobs(const text::Tokenizer& tokenizer, std::vector<int32_t> tokens, bool is_added,
                 uint32_t vocab_size, uint32_t top);

  const std::vector<int32_t>& tokens() const { return tokens_; }
  // The logits [vocab_size] behind the next token; what is behind the last is not looked at.
  void Add(std::span<const float> logits);
  // All tokens, once all logits have come; the first has NaN, since it follows nothing.
  Result<std::vector<respond::SpokenToken>> Take();

 private:
  std::string TextOf(int32_t id) const;

  const text::Tokenizer* tokenizer_;
  std::vector<int32_t> tokens_;
  engine::Sampler sampler_;
  size_t next_ = 1;  // of tokens_, that the next logits foresee
  std::vector<respond::SpokenToken> spoken_;
  Status status_;
};

}  // namespace aster::serve
