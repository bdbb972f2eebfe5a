// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Runs a drafter of blocks (model/files/block_shape.h). Its layers keep keys and values of the
// model's rows. Their input is the newest token and masks after it, which see each other, so one
// pass drafts several tokens. Must not know what becomes of its draft tokens.
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

  // Adds the model's rows of the tokens that follow those in the table: `rows` [tokens, taps *
  // embedding] are Output::tapped.
  Status Follow(kv::PageTable& table, std::span<const int32_t> tokens, const float* rows);

  // Computes a block of draft tokens after `token`, which follows the tokens of the table. The
  // table does not change.
  Status Begin(const kv::PageTable& table, int32_t token);
  // The logits [vocab_size] of draft token `index` after the token `before`, until the next call.
  Result<std::span<const float>> LogitsOf(size_t index, int32_t before);
  // The probability that the model accepts it, if the drafter predicts that. After LogitsOf.
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
  std::optional<StreamMixer> mixer_;  // if the residual has several streams
  compute::Array tapped_;             // [tokens, taps * embedding]
  compute::Array joined_;             // [tokens, embedding]
  compute::Array hidden_;             // [drafts, hidden_width]
  compute::Array merged_;             // [drafts, embedding], if there are several streams
  compute::Array normed_;             // [drafts, embedding]
  compute::Array logits_;             // [drafts, drafted vocabulary], from the block alone
  compute::Array pair_;               // [1, pair_rank]
  compute::Array sum_;                // [1, drafted vocabulary]
  std::vector<float> states_;         // [drafts, embedding], for the confidence
  std::vector<float> block_logits_;   // as logits_, if nothing is added
  std::vector<float> all_logits_;     // [vocab_size], if the drafter knows only some tokens
  std::optional<float> confidence_;
};

// The KV cache of its layers: the rows of their window.
Result<kv::Layout> MakeBlockLayout(const BlockShape& shape, const MemoryOptions& memory,
                                   const Hash128& fingerprint);

}  // namespace aster::model
