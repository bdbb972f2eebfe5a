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

#include "engine/proposer.h"

namespace aster::conduct {

// What it proposes at a position depends on nothing but that position and the text before.
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
      for (const std::vector<int32_t>& text : source_.texts_) {
        if (text.size() < history.size()) continue;
        if (!std::equal(history.begin(), history.end(), text.begin())) continue;
        for (size_t at = history.size(); at < text.size() && drafts.size() < most; ++at) {
          drafts.push_back(source_.IsRight(at) ? text[at] : (text[at] + 1) % 100);
        }
        break;
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

  // Spread over the positions without a period.
  bool IsRight(size_t position) const {
    return position * 2654435761U % 4294967296U / 42949673U < right_;
  }

  const uint32_t right_;
  std::vector<std::vector<int32_t>> texts_;
};

}  // namespace aster::conduct
