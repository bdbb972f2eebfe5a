// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A drafter by multi-token prediction (MTP), with the model's own block for it
// (model/drafters/mtp_block.h). Must not know who checks draft tokens, nor how a model gets its
// rows.
//
// The block sees only its window, so only the last rows of a prompt are kept. Rows of cached tokens
// are not computed again: if rows are missing, its KV cache begins again after them, and drafts are
// worse until its window is full.
#pragma once

#include <optional>
#include <vector>

#include "engine/local_model.h"
#include "engine/proposer.h"
#include "engine/sampler.h"
#include "model/drafters/mtp_block.h"

namespace aster::draft {

// Shared by the proposers of all answers. Belongs to the thread that computes, like the model,
// which outlives it.
class MtpDrafter {
 public:
  // FailedPrecondition if the model has no such block, or the slice lacks it.
  static Result<std::unique_ptr<MtpDrafter>> Make(engine::LocalModel& model);

  std::unique_ptr<engine::Proposer> NewProposer(const engine::SamplingOptions& sampling);

 private:
  friend class MtpProposer;
  MtpDrafter(engine::LocalModel& model, kv::Layout layout);
  uint32_t most_unread() const;
  void WarmUp();

  engine::LocalModel& model_;
  const uint32_t window_;  // pairs of token and hidden row that a draft sees
  const kv::Layout layout_;
  kv::Pool pages_;
  model::MtpBlock mtp_;
};

}  // namespace aster::draft
