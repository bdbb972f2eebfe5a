// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A drafter of blocks (DFlash, DSpark: model/files/block_shape.h), which reads the output of some
// of the model's layers. Must not know who checks draft tokens.
//
// Like the MTP block it sees only its window: it reads only the last rows of a prompt, and if rows
// are missing, as those of cached tokens are, its KV cache begins again after them.
#pragma once

#include <memory>

#include "engine/local_model.h"
#include "engine/proposer.h"
#include "engine/sampler.h"
#include "model/drafters/block_drafter.h"

namespace aster::draft {

// Shared by the proposers of all answers. Belongs to the thread that computes, like the model,
// which outlives it.
class BlockProposers {
 public:
  // An error if the model has no such drafter.
  static Result<std::unique_ptr<BlockProposers>> Make(engine::LocalModel& model);

  std::unique_ptr<engine::Proposer> NewProposer(const engine::SamplingOptions& sampling);

 private:
  friend class BlockProposer;
  BlockProposers(engine::LocalModel& model, const model::BlockWeights& weights, kv::Layout layout);

  engine::LocalModel& model_;
  const model::BlockShape& shape_;
  const kv::Layout layout_;
  kv::Pool pages_;
  model::BlockDrafter drafter_;
};

}  // namespace aster::draft
