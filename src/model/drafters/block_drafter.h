// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A drafter of blocks (model/files/block_shape.h) at work. Its layers keep keys and values of the
// model's rows, and are given the newest token with unknown ones behind it, which see each other:
// together they draft as many tokens in one pass. Must not know what becomes of its draft tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/commands.h"
#include "kv/page_table.h"
#include "model/forward/forward.h"
#include "model/layers/stream_mixer.h"
#include "model/weights/block_weights.h"

namespace aster::model {

// Not for concurrent use. Weights, head and back end outlive it.
class BlockDrafter {
 public:
  // `head`: the model's.
  BlockDrafter(const BlockWeights& weights, const MemoryOptions& memory,
               const compute::Matrix& head, compute::Backend& backend);

  // Takes in what the model made of tokens behind those that the table holds: `rows`
  // [tokens, taps * embedding] as Output::tapped has them.
  Status Follow(kv::PageTable& table, std::span<const int32_t> tokens, const float* rows);

  // A block behind the tokens of the table, from `token` on, which is the next. The table stays as
  // it is.
  Status Begin(const kv::PageTable& table, int32_t token);
  // Of its draft token `index`, where `before` is the one before it: logits [vocab_size], until the
  // next call.
  Result<std::span<const float>> LogitsOf(size_t index, int32_t before);
  // And how likely the model chooses it, where the drafter says so: behind LogitsOf.
  std::optional<float> Confidence() const { return confidence_; }

 private:
  Status RecordJoin(const float* rows, size_t count);
  Status RecordBlock(std::span<const float> hidden, size_t count);
  Status AddPair(size_t index, int32_t before, std::span<const float>& logits);
  void FindConfidence(size_t index, std::span<const float> pair);
  std::span<const float> InModelVocab(std::span<const float> logits);

  const BlockWeights& weights_;
  const compute::Matrix& head_;
  compute::Backend& backend_;
  const std::unique_ptr<compute::Commands> commands_;
  const std::unique_ptr<compute::Operand> operand_;
  Forward layers_;
  std::optional<StreamMixer> mixer_;  // where the residual has several streams
  compute::Array tapped_;             // [tokens, taps * embedding]
  compute::Array joined_;             // [tokens, embedding]
  compute::Array hidden_;             // [drafts, hidden_width]
  compute::Array merged_;             // [drafts, embedding], where there are streams
  compute::Array normed_;             // [drafts, embedding]
  compute::Array logits_;             // [drafts, drafted vocabulary], by the block alone
  compute::Array pair_;               // [1, pair_rank]
  compute::Array sum_;                // [1, drafted vocabulary]
  std::vector<float> states_;         // [drafts, embedding], for the confidence
  std::vector<float> block_logits_;   // as logits_, where nothing is added
  std::vector<float> all_logits_;     // [vocab_size], where the drafter knows some only
  std::optional<float> confidence_;
};

// The KV cache of its layers: the rows of their window.
Result<kv::Layout> MakeBlockLayout(const BlockShape& shape, const MemoryOptions& memory,
                                   const Hash128& fingerprint);

}  // namespace aster::model
