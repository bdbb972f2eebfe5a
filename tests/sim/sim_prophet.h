// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Guesses ahead by knowing what will be answered, and is wrong as often as a die says. Must not
// know who checks its guesses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "engine/proposer.h"

namespace aster::sim {

class Prophet final : public engine::ProposerSource {
 public:
  explicit Prophet(uint64_t seed) : random_(seed) {}

  // A prompt with its answer.
  void AddText(std::vector<int32_t> text) { texts_.push_back(std::move(text)); }

  Result<std::unique_ptr<engine::Proposer>> Make(const engine::Request& /*request*/) override {
    return std::make_unique<TextDrafter>(*this);
  }
  // One more source, which says the same; this one outlives it.
  std::unique_ptr<engine::ProposerSource> Another() { return std::make_unique<Echo>(*this); }

 private:
  class TextDrafter final : public engine::Proposer {
   public:
    explicit TextDrafter(Prophet& prophet) : prophet_(prophet) {}

    Status Propose(std::span<const int32_t> history, uint32_t most,
                   std::vector<int32_t>& drafts) override {
      for (const std::vector<int32_t>& text : prophet_.texts_) {
        if (text.size() < history.size() ||
            !std::equal(history.begin(), history.end(), text.begin())) {
          continue;
        }
        for (size_t at = history.size(); at < text.size() && drafts.size() < most; ++at) {
          drafts.push_back(prophet_.random_.NextBelow(4) == 0 ? 7 : text[at]);
        }
        break;
      }
      if (prophet_.random_.NextBelow(4) == 0) drafts.push_back(11);
      return Ok();
    }

   private:
    Prophet& prophet_;
  };
  class Echo final : public engine::ProposerSource {
   public:
    explicit Echo(Prophet& prophet) : prophet_(prophet) {}
    Result<std::unique_ptr<engine::Proposer>> Make(const engine::Request& request) override {
      return prophet_.Make(request);
    }

   private:
    Prophet& prophet_;
  };

  Random random_;
  std::vector<std::vector<int32_t>> texts_;
};

}  // namespace aster::sim
