// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What one member finds of a text behind its history, row by row: how probable each token is, and
// how far it would have written the same. Must not know who wrote it.
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

// Used by the thread that computes the rows, until they are there.
class SpanRating {
 public:
  // `first_checked` of the tokens were agreed before, and are only rated. `ends`: the last one is
  // any that ends an answer.
  SpanRating(const Member& member, const PreparedQuestion& question, std::vector<int32_t> history,
             std::vector<int32_t> tokens, size_t first_checked, bool ends);

  // The row behind each token rates the next one.
  void TakeRow(std::span<const float> logits);

  bool is_whole() const { return logprobs_.size() == tokens_.size(); }
  const Status& status() const { return status_; }
  const std::vector<float>& logprobs() const { return logprobs_; }
  // Of the tokens that were not agreed before, from the first.
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
