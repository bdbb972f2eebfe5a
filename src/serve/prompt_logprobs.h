// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The log-probabilities that a model gives to the tokens of a prompt, from the logits after each.
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
  // With the `top` most likely tokens for each. The tokenizer outlives it; `is_added`: the first
  // token is not part of the text.
  PromptLogprobs(const text::Tokenizer& tokenizer, std::vector<int32_t> tokens, bool is_added,
                 uint32_t vocab_size, uint32_t top);

  const std::vector<int32_t>& tokens() const { return tokens_; }
  // The logits [vocab_size] after the next token; those after the last token are ignored.
  void Add(std::span<const float> logits);
  // All tokens, once all logits have come; the first one has NaN, since it follows nothing.
  Result<std::vector<respond::ResponseToken>> Take();

 private:
  std::string TextOf(int32_t id) const;

  const text::Tokenizer* tokenizer_;
  std::vector<int32_t> tokens_;
  engine::Sampler sampler_;
  size_t next_ = 1;  // of tokens_: predicted by the next logits
  std::vector<respond::ResponseToken> rated_;
  Status status_;
};

}  // namespace aster::serve
