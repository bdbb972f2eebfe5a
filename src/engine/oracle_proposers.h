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
class OracleProposers final : public ProposerSource {
 public:
  // Of 100 positions, the drafts of `accepted_percent` are the text's tokens.
  explicit OracleProposers(uint32_t accepted_percent = 100) : accepted_percent_(accepted_percent) {}
  // Right at the given positions.
  explicit OracleProposers(std::function<bool(size_t position)> is_accepted)
      : is_accepted_(std::move(is_accepted)) {}

  // Adds a text; an answer is the text from `begin` on.
  void AddText(std::vector<int32_t> text, size_t begin = 0) {
    for (size_t at = begin; at < text.size(); ++at) {
      ++positions_;
      if (IsAccepted(texts_.size(), at)) ++accepted_positions_;
    }
    texts_.push_back(std::move(text));
  }
  // The share of right draft tokens in all answers; differs from the chosen one by chance.
  double AcceptanceRate() const {
    return positions_ == 0
               ? 0
               : static_cast<double>(accepted_positions_) / static_cast<double>(positions_);
  }

  Result<std::unique_ptr<Proposer>> Make(const Request& /*request*/) override {
    return std::make_unique<OracleProposer>(*this);
  }
  // A further source with the same proposals; this one outlives it.
  std::unique_ptr<ProposerSource> Another() { return std::make_unique<Echo>(*this); }

 private:
  class OracleProposer final : public Proposer {
   public:
    explicit OracleProposer(const OracleProposers& source) : source_(source) {}

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
        drafts.push_back(source_.IsAccepted(best, at) ? text[at] : (text[at] + 1) % 100);
      }
      return Ok();
    }

   private:
    const OracleProposers& source_;
  };
  class Echo final : public ProposerSource {
   public:
    explicit Echo(OracleProposers& source) : source_(source) {}
    Result<std::unique_ptr<Proposer>> Make(const Request& request) override {
      return source_.Make(request);
    }

   private:
    OracleProposers& source_;
  };

  bool IsAccepted(size_t text, size_t position) const {
    if (is_accepted_) return is_accepted_(position);
    return Random(position + (uint64_t{text} << 32)).NextBelow(100) < accepted_percent_;
  }

  const uint32_t accepted_percent_ = 0;
  const std::function<bool(size_t)> is_accepted_;
  std::vector<std::vector<int32_t>> texts_;
  uint64_t positions_ = 0;
  uint64_t accepted_positions_ = 0;
};

}  // namespace aster::engine
