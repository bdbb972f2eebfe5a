// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// All drafters for answers on this machine, made when requests ask for them. Must not know how
// requests proceed.
#pragma once

#include <memory>
#include <vector>

#include "draft/block_proposer.h"
#include "draft/mtp_proposer.h"
#include "engine/local_model.h"
#include "engine/proposer.h"

namespace aster::draft {

// Belongs to the thread that computes. It outlives the proposers that it makes, and the models
// outlive both.
class Proposers final : public engine::ProposerSource {
 public:
  // `answers`: the model that is drafted for, or null if it is on other machines. `drafts`: a
  // smaller one with the same vocabulary (CheckSameVocabulary), or null.
  explicit Proposers(engine::LocalModel* answers, engine::LocalModel* drafts = nullptr)
      : answers_(answers), drafts_(drafts) {}

  Result<std::unique_ptr<engine::Proposer>> Make(const engine::Request& request) override;

 private:
  Result<std::unique_ptr<engine::Proposer>> MakeOwn(const engine::Request& request);

  engine::LocalModel* const answers_;
  engine::LocalModel* const drafts_;
  std::unique_ptr<MtpDrafter> mtp_;         // once it was asked for
  std::unique_ptr<BlockProposers> blocks_;  // likewise
  uint64_t replacements_ = 0;               // of lost GPUs, when they were made
  std::vector<std::unique_ptr<MtpDrafter>> lost_mtp_;
  std::vector<std::unique_ptr<BlockProposers>> lost_blocks_;
};

// The drafters for one model that is loaded on this machine.
std::unique_ptr<engine::ProposerSource> ProposersFor(engine::LocalModel& answers);

}  // namespace aster::draft
