// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A drafter that knows the answers, and is wrong at a known share of positions. Only for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/proposer.h"

namespace aster::conduct {

// What it proposes at a position depends on nothing but that position and the text that it is in.
class KnowingProposers final : public engine::ProposerSource {
 public:
  // Of 100 positions, the draft tokens of `right` are the text's.
  explicit KnowingProposers(uint32_t right = 100) : right_(right) {}

  void Foresee(std::vector<int32_t> text) { texts_.push_back(std::move(text)); }

  Result<std::unique_ptr<engine::Proposer>> Make(const engine::Request& /*request*/) override {
    return std::make_unique<Knowing>(*this);
  }
  // One more source, which says the same; this one outlives it.
  std::unique_ptr<engine::ProposerSource> Another() { return std::make_unique<Echo>(*this); }

 private:
  class Knowing final : public engine::Proposer {
   public:
    explicit Knowing(const KnowingProposers& source) : source_(source) {}

    Status Propose(std::span<const int32_t> history, uint32_t most,
                   std::vector<int32_t>& drafts) override {
      // Of the text that agrees longest; it goes on there, whatever else the end is.
      const std::vector<int32_t>* best = nullptr;
      size_t longest = 0;
      for (const std::vector<int32_t>& text : source_.texts_) {
        const auto agreed =
            static_cast<size_t>(std::ranges::mismatch(history, text).in1 - history.begin());
        if (agreed > longest) best = &text;
        longest = std::max(longest, agreed);
      }
      for (size_t at = history.size(); best != nullptr && at < best->size(); ++at) {
        if (drafts.size() == most) break;
        drafts.push_back(source_.IsRight(at) ? (*best)[at] : ((*best)[at] + 1) % 100);
      }
      return Ok();
    }

   private:
    const KnowingProposers& source_;
  };
  class Echo final : public engine::ProposerSource {
   public:
    explicit Echo(KnowingProposers& source) : source_(source) {}
    Result<std::unique_ptr<engine::Proposer>> Make(const engine::Request& request) override {
      return source_.Make(request);
    }

   private:
    KnowingProposers& source_;
  };

  bool IsRight(size_t position) const { return Random(position).NextBelow(100) < right_; }

  const uint32_t right_;
  std::vector<std::vector<int32_t>> texts_;
};

}  // namespace aster::conduct
