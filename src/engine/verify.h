// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Computes the same text in every way (cut into chunks; with other threads, instruction sets,
// slices; in company, as an answer, after going back, after a KV transfer to another memory) and
// names the logits by a hash: one arithmetic means that all are equal. Must not know how results
// are shown.
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
  // For the first way; its threads and instruction set are varied. Its GPU layers are used by the
  // last ways only; all others are computed on the processor.
  LocalModelOptions model;
  std::vector<kernels::Isa> isas;
  std::vector<size_t> threads;
  // Drafters for the ways with speculative decoding; `proposers` gets the model that answers. If
  // null, the only drafter is one that knows the text and is wrong at times.
  DraftOptions draft = {};
  std::function<ProposerSource&(LocalModel&)> proposers = nullptr;
};

struct VerifiedWay {
  std::string name;
  Hash128 hash;  // of the logits of every position
  int64_t duration_ns = 0;
};

// Called when a way is finished.
using VerifySink = std::function<void(const VerifiedWay&)>;

// All ways, the plain one first. An error if one cannot be computed.
Result<std::vector<VerifiedWay>> Verify(const gguf::ModelFiles& files,
                                        std::span<const int32_t> tokens,
                                        const VerifyOptions& options, const Clock& clock,
                                        const VerifySink& sink);

// One of the ways, for any generator: the hash of the logits of every position of a text that is
// half prompt and half answer, beside other requests; all with drafts that are partly wrong.
Result<Hash128> AnsweredBesideOthers(Generator& generator, std::span<const int32_t> tokens,
                                     const DraftOptions& draft = {});

// The same for a text in two turns of one sequence; the second turn continues the first one's KV
// cache.
Result<Hash128> AnsweredInTurns(Generator& generator, std::span<const int32_t> tokens,
                                const DraftOptions& draft = {});

// Generates an answer that must be tokens [sequence.length(), end). Hashes its logits: those of the
// rows from sequence.length() - 1 to end - 1.
Status AnswerWith(Generator& generator, Sequence& sequence, std::span<const int32_t> tokens,
                  size_t end, const DraftOptions& draft, LogitsHash& hash);

bool AllEqual(std::span<const VerifiedWay> ways);

}  // namespace aster::engine
