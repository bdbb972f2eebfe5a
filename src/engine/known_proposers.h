// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A drafter that knows the answers, and is wrong at a known share of positions: for tests, and to
// measure what speculative decoding gains at an acceptance rate. Must not know who asks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/proposer.h"

namespace aster::engine {

// Its proposal at a position depends only on that position and its text.
class KnowingProposers final : public ProposerSource {
 public:
  // Of 100 positions, the drafts of `right` are the text's tokens.
  explicit KnowingProposers(uint32_t right = 100) : right_(right) {}
  // Right at the given positions.
  explicit KnowingProposers(std::function<bool(size_t position)> is_right)
      : is_right_(std::move(is_right)) {}

  // Adds a text; an answer is the text from `begin` on.
  void Foresee(std::vector<int32_t> text, size_t begin = 0) {
    for (size_t at = begin; at < text.size(); ++at) {
      ++foreseen_;
      if (IsRight(texts_.size(), at)) ++right_foreseen_;
    }
    texts_.push_back(std::move(text));
  }
  // The share of right draft tokens in all answers; differs from the chosen one by chance.
  double RightShare() const {
    return foreseen_ == 0 ? 0
                          : static_cast<double>(right_foreseen_) / static_cast<double>(foreseen_);
  }

  Result<std::unique_ptr<Proposer>> Make(const Request& /*request*/) override {
    return std::make_unique<Knowing>(*this);
  }
  // A further source with the same proposals; this one outlives it.
  std::unique_ptr<ProposerSource> Another() { return std::make_unique<Echo>(*this); }

 private:
  class Knowing final : public Proposer {
   public:
    explicit Knowing(const KnowingProposers& source) : source_(source) {}

    Status Propose(std::span<const int32_t> history, uint32_t most,
                   std::vector<int32_t>& drafts) override {
      // The text with the longest common prefix is continued, even if later tokens differ.
      size_t best = source_.texts_.size();
      size_t longest = 0;
      for (size_t i = 0; i < source_.texts_.size(); ++i) {
        const auto agreed = static_cast<size_t>(
            std::ranges::mismatch(history, source_.texts_[i]).in1 - history.begin());
        if (agreed > longest) best = i;
        longest = std::max(longest, agreed);
      }
      if (best == source_.texts_.size()) return Ok();
      const std::vector<int32_t>& text = source_.texts_[best];
      for (size_t at = history.size(); at < text.size() && drafts.size() < most; ++at) {
        drafts.push_back(source_.IsRight(best, at) ? text[at] : (text[at] + 1) % 100);
      }
      return Ok();
    }

   private:
    const KnowingProposers& source_;
  };
  class Echo final : public ProposerSource {
   public:
    explicit Echo(KnowingProposers& source) : source_(source) {}
    Result<std::unique_ptr<Proposer>> Make(const Request& request) override {
      return source_.Make(request);
    }

   private:
    KnowingProposers& source_;
  };

  bool IsRight(size_t text, size_t position) const {
    if (is_right_) return is_right_(position);
    return Random(position + (uint64_t{text} << 32)).NextBelow(100) < right_;
  }

  const uint32_t right_ = 0;
  const std::function<bool(size_t)> is_right_;
  std::vector<std::vector<int32_t>> texts_;
  uint64_t foreseen_ = 0;
  uint64_t right_foreseen_ = 0;
};

}  // namespace aster::engine
