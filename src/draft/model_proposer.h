// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A drafter by a draft model: a smaller model on this machine, which computes the same text. It
// draws as the answer does, with the same randomness at the same position. Must not know who checks
// the draft tokens.
#pragma once

#include <memory>

#include "engine/local_model.h"
#include "engine/proposer.h"
#include "engine/sampler.h"
#include "text/vocab.h"

namespace aster::draft {

// The model outlives the proposer, and belongs to the same thread.
std::unique_ptr<engine::Proposer> NewModelProposer(engine::LocalModel& model,
                                                   const engine::SamplingOptions& sampling);

// An error that names the first token that differs in the draft model: its tokens would mean other
// texts.
Status CheckSameVocabulary(const text::Vocab& answers, const text::Vocab& drafts);

}  // namespace aster::draft
