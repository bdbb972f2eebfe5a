// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/prompt_logprobs.h"

#include <limits>
#include <utility>

#include "base/check.h"
#include "kernels/isa_choice.h"

namespace aster::serve {

PromptLogprobs::PromptLogprobs(const text::Tokenizer& tokenizer, std::vector<int32_t> tokens,
                               bool is_added, uint32_t vocab_size, uint32_t top)
    : tokenizer_(&tokenizer),
      tokens_(std::move(tokens)),
      // Cannot fail: the model was opened with the same instruction set.
      sampler_({.logprobs = true, .top_logprobs = top}, vocab_size,
               kernels::IsaFromEnvironment().value()) {
  CHECK(!tokens_.empty());
  const int32_t first = tokens_.front();
  rated_.push_back(
      {{first, is_added ? std::string() : TextOf(first), std::numeric_limits<float>::quiet_NaN()}});
}

// Models may have more tokens than their vocabulary has texts.
std::string PromptLogprobs::TextOf(int32_t id) const {
  const auto bytes = tokenizer_->TokenBytes(id);
  return bytes.ok() ? std::string(*bytes) : std::string();
}

void PromptLogprobs::Add(std::span<const float> logits) {
  if (!status_.ok() || next_ == tokens_.size()) return;
  const auto choice = sampler_.Rate(logits, tokens_[next_++]);
  if (!choice.ok()) {
    status_ = choice.error();
    return;
  }
  respond::ResponseToken token{{choice->id, TextOf(choice->id), choice->logprob}};
  for (const engine::TokenLogprob& top : choice->top)
    token.top.push_back({top.id, TextOf(top.id), top.logprob});
  rated_.push_back(std::move(token));
}

Result<std::vector<respond::ResponseToken>> PromptLogprobs::Take() {
  TRY(status_);
  return std::move(rated_);
}

}  // namespace aster::serve
