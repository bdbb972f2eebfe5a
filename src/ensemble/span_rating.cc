// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/span_rating.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "grammar/token_mask.h"
#include "kernels/isa_choice.h"
#include "kernels/math.h"

namespace aster::ensemble {
namespace {

engine::SamplingOptions LogprobsAlone() {
  engine::SamplingOptions options;
  options.logprobs = true;
  return options;
}

// Cannot fail: the member was opened with the same instruction set.
kernels::Isa SamplerIsa() { return kernels::IsaFromEnvironment().value(); }

engine::SamplingOptions WithoutLogprobs(engine::SamplingOptions options) {
  options.logprobs = false;
  options.top_logprobs = 0;
  return options;
}

engine::LogitsEditor EditorOf(const PreparedQuestion& question) {
  if (question.masks == nullptr) return nullptr;
  return [masks = std::make_shared<grammar::TokenMasks>(question.masks),
          begin = question.prompt.tokens.size()](std::span<const int32_t> history,
                                                 std::span<float> logits) {
    masks->Apply(history.subspan(begin), logits);
  };
}

}  // namespace

SpanRating::SpanRating(const Member& member, const PreparedQuestion& question,
                       std::vector<int32_t> history, std::vector<int32_t> tokens,
                       size_t first_checked, bool ends)
    : rater_(LogprobsAlone(), member.engine->vocab_size(), SamplerIsa()),
      chooser_(WithoutLogprobs(question.settings.sampling), member.engine->vocab_size(),
               SamplerIsa(), EditorOf(question)),
      ends_(ends ? member.model.tokenizer->vocab().end_of_generation : std::vector<int32_t>()),
      history_(std::move(history)),
      tokens_(std::move(tokens)),
      first_checked_(first_checked) {}

void SpanRating::TakeRow(std::span<const float> logits) {
  if (!status_.ok() || logprobs_.size() == tokens_.size()) return;
  const size_t next = logprobs_.size();
  const int32_t token = tokens_[next];
  const bool is_end = !ends_.empty() && next + 1 == tokens_.size();
  // As long as it would have written the same.
  std::optional<int32_t> own;
  if (next >= first_checked_ && agreed_ == next - first_checked_) {
    const auto choice = chooser_.Choose(logits, history_);
    const bool is_same =
        choice.ok() &&
        (choice->id == token || (is_end && std::ranges::find(ends_, choice->id) != ends_.end()));
    if (is_same) {
      own = choice->id;
      ++agreed_;
    }
  }
  const auto logprob = is_end && !own ? EndLogprob(logits) : Logprob(logits, own.value_or(token));
  if (!logprob.ok()) {
    status_ = logprob.error();
    return;
  }
  logprobs_.push_back(*logprob);
  history_.push_back(token);
}

Result<float> SpanRating::Logprob(std::span<const float> logits, int32_t token) {
  return TRY(rater_.Rate(logits, token)).logprob;
}

// The log-probability of any token that ends an answer.
Result<float> SpanRating::EndLogprob(std::span<const float> logits) {
  double sum = 0;
  for (const int32_t end : ends_)
    sum += kernels::Exp(static_cast<double>(TRY(Logprob(logits, end))));
  return static_cast<float>(kernels::Log(std::max(sum, 1e-300)));
}

}  // namespace aster::ensemble
