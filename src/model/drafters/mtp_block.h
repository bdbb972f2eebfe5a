// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Multi-token prediction (MTP): drafts the tokens after the next one, with the block that some
// models have for it: one layer and a head. Its input is a token joined with the streams of the
// token before it (in most models one stream: its row). Must not know what becomes of its draft
// tokens.
// | Its layer has one KV row for each pair: pair i is token i + 1 with the streams of token i, at
// position i. A token may be drafted without all pairs before it; the draft gets worse. So the
// layer has a window even if those of the model see all positions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/commands.h"
#include "kv/page_table.h"
#include "kv/pool.h"
#include "model/forward/forward.h"
#include "model/weights/weights.h"

namespace aster::model {

// Whose rows are the block's input: the model's, or its own from the draft token before.
enum class RowsOf : uint8_t { kModel, kBlock };

// Not for concurrent use. Weights, which have the block, outlive it.
class MtpBlock {
 public:
  MtpBlock(const Weights& weights, const MemoryOptions& memory, compute::Backend& backend);

  // Adds pairs of accepted tokens: `streams` [tokens, hidden_width] are those of the token before
  // each, as in Output::hidden.
  Status Follow(kv::PageTable& table, std::span<const int32_t> tokens, const float* streams);

  // Up to `count` draft tokens after `token`, each the most likely one: `streams` [hidden_width]
  // are those of the token before it. The table does not change.
  Result<std::vector<int32_t>> Draft(const kv::PageTable& table, int32_t token,
                                     const float* streams, size_t count);

  // The logits of the wanted tokens, and the block's output streams for them, until the next call.
  Result<Output> Run(kv::PageTable& table, std::span<const int32_t> tokens, const float* streams,
                     RowsOf whose, Wanted wanted);

 private:
  Result<std::span<const float>> Join(std::span<const int32_t> tokens, const float* streams,
                                      RowsOf whose);
  Status RecordJoin(std::span<const int32_t> tokens, const float* streams, RowsOf whose);

  const Weights& weights_;
  compute::Backend& backend_;
  const std::unique_ptr<compute::Commands> commands_;
  Forward block_;
  compute::Array embedded_;     // [tokens, embedding]
  compute::Array streams_;      // [tokens * streams, embedding]
  compute::Array from_tokens_;  // [tokens, embedding]
  compute::Array joined_;       // [tokens * streams, embedding]
  const std::unique_ptr<compute::Operand> token_operand_;
  const std::unique_ptr<compute::Operand> stream_operand_;
};

// The KV cache of the block: the rows of its window.
Result<kv::Layout> MakeMtpLayout(const Shape& shape, const MemoryOptions& memory,
                                 const Hash128& fingerprint);

}  // namespace aster::model
