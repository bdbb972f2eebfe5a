// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Computes the same text in every way there is (cut into chunks, on other threads, instruction
// sets, slices, in company, as an answer, after going back, after a KV transfer to another memory)
// and names the logits by a hash: one arithmetic means that all are equal. Must not know how
// results are shown.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/result.h"
#include "engine/generator.h"
#include "engine/local_model.h"
#include "engine/logits.h"

namespace aster::engine {

struct VerifyOptions {
  // Of the first way; its threads and instruction set are varied. What its GPU layers give comes
  // last: all other ways are the processor's.
  LocalModelOptions model;
  std::vector<kernels::Isa> isas;
  std::vector<size_t> threads;
  // Drafters for the ways with speculative decoding; `proposers` is given the model that answers.
  // Without any, the only drafter is one that knows the text and is wrong now and then.
  DraftOptions draft = {};
  std::function<ProposerSource&(LocalModel&)> proposers = nullptr;
};

struct VerifiedWay {
  std::string name;
  Hash128 hash;  // of the logits of every position
  int64_t duration_ns = 0;
};

// Told when a way is finished.
using VerifySink = std::function<void(const VerifiedWay&)>;

// All ways, the plain one first. An error if one cannot be computed at all.
Result<std::vector<VerifiedWay>> Verify(const gguf::ModelFiles& files,
                                        std::span<const int32_t> tokens,
                                        const VerifyOptions& options, const Clock& clock,
                                        const VerifySink& sink);

// One of the ways, for any generator: the hash of the logits of every position of a text that is
// half prompt and half answer, beside other requests; all of them with drafts that are partly
// wrong.
Result<Hash128> AnsweredBesideOthers(Generator& generator, std::span<const int32_t> tokens,
                                     const DraftOptions& draft = {});

// Likewise of a text in two turns of one sequence, the second of which goes on from what the first
// left behind.
Result<Hash128> AnsweredInTurns(Generator& generator, std::span<const int32_t> tokens,
                                const DraftOptions& draft = {});

// An answer that is tokens [sequence.length(), end), whatever the model would rather say. Its
// logits are hashed: those of the rows from sequence.length() - 1 to end - 1.
Status AnswerWith(Generator& generator, Sequence& sequence, std::span<const int32_t> tokens,
                  size_t end, const DraftOptions& draft, LogitsHash& hash);

bool AllEqual(std::span<const VerifiedWay> ways);

}  // namespace aster::engine
