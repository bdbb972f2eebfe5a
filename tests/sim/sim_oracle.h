// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Drafts the answers that it was told before, with wrong tokens at random. Must not know what
// checks its draft tokens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "engine/proposer.h"

namespace aster::sim {

class OracleDrafter final : public engine::ProposerSource {
 public:
  explicit OracleDrafter(uint64_t seed) : random_(seed) {}

  // Adds a prompt with its answer.
  void AddText(std::vector<int32_t> text) { texts_.push_back(std::move(text)); }

  Result<std::unique_ptr<engine::Proposer>> Make(const engine::Request& /*request*/) override {
    return std::make_unique<TextDrafter>(*this);
  }
  // Another source of the same draft tokens; this one must outlive it.
  std::unique_ptr<engine::ProposerSource> Another() { return std::make_unique<Echo>(*this); }

 private:
  class TextDrafter final : public engine::Proposer {
   public:
    explicit TextDrafter(OracleDrafter& oracle) : oracle_(oracle) {}

    Status Propose(std::span<const int32_t> history, uint32_t most,
                   std::vector<int32_t>& drafts) override {
      for (const std::vector<int32_t>& text : oracle_.texts_) {
        if (text.size() < history.size() ||
            !std::equal(history.begin(), history.end(), text.begin())) {
          continue;
        }
        for (size_t at = history.size(); at < text.size() && drafts.size() < most; ++at) {
          drafts.push_back(oracle_.random_.NextBelow(4) == 0 ? 7 : text[at]);
        }
        break;
      }
      if (oracle_.random_.NextBelow(4) == 0) drafts.push_back(11);
      return Ok();
    }

   private:
    OracleDrafter& oracle_;
  };
  class Echo final : public engine::ProposerSource {
   public:
    explicit Echo(OracleDrafter& oracle) : oracle_(oracle) {}
    Result<std::unique_ptr<engine::Proposer>> Make(const engine::Request& request) override {
      return oracle_.Make(request);
    }

   private:
    OracleDrafter& oracle_;
  };

  Random random_;
  std::vector<std::vector<int32_t>> texts_;
};

}  // namespace aster::sim
