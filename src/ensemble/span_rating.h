// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One member's rating of a text after its history, row by row: how probable each token is, and for
// how long it would have written the same. Must not know who wrote it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/sampler.h"
#include "ensemble/member.h"
#include "ensemble/question.h"

namespace aster::ensemble {

// Used by the thread that computes the rows, until these are complete.
class SpanRating {
 public:
  // `first_checked` tokens are already agreed, and only rated. `ends`: the last token stands for
  // any that ends an answer.
  SpanRating(const Member& member, const PreparedQuestion& question, std::vector<int32_t> history,
             std::vector<int32_t> tokens, size_t first_checked, bool ends);

  // The row after each token rates the next one.
  void TakeRow(std::span<const float> logits);

  bool is_whole() const { return logprobs_.size() == tokens_.size(); }
  const Status& status() const { return status_; }
  const std::vector<float>& logprobs() const { return logprobs_; }
  // Counts the tokens after the agreed ones.
  size_t agreed() const { return agreed_; }

 private:
  Result<float> Logprob(std::span<const float> logits, int32_t token);
  Result<float> EndLogprob(std::span<const float> logits);

  engine::Sampler rater_;
  engine::Sampler chooser_;
  const std::vector<int32_t> ends_;
  std::vector<int32_t> history_;
  const std::vector<int32_t> tokens_;
  const size_t first_checked_;
  std::vector<float> logprobs_;
  size_t agreed_ = 0;
  Status status_;
};

}  // namespace aster::ensemble
