// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// N-gram memory (DeepSeek V4.1's Engram), which some layers have: rows of a table, found by a token
// and those before it, are added to the residual, weighted by how well they fit it. Must not know
// the layer's halves.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/commands.h"
#include "model/shape/shape.h"
#include "model/weights/weights.h"

namespace aster::model {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class NgramMemory {
 public:
  NgramMemory(const Shape& shape, compute::Backend& backend, compute::Commands& commands);

  // Room for a batch of `row_count` rows.
  Status Plan(size_t row_count);
  // Finds the table rows of the batch's tokens for layers [begin, end); before these are computed.
  Status SetTokens(uint32_t begin, uint32_t end, std::span<const compute::PageSpan> spans,
                   std::span<const int32_t> tokens);
  // Adds the layer's rows to the streams [rows, streams * embedding].
  Status Run(uint32_t layer, const NgramWeights& weights, const compute::Tensor& streams);

 private:
  Status FindRows(size_t index, std::span<const compute::PageSpan> spans,
                  std::span<const int32_t> tokens);

  const Shape shape_;
  const Ngrams& ngrams_;
  compute::Backend& backend_;
  compute::Commands& commands_;
  const std::unique_ptr<compute::Operand> operand_;
  std::vector<std::vector<int32_t>> ids_;  // by layer with a memory: [rows, rows of a token]
  compute::Array found_;                   // [rows * rows of a token, dim]
  compute::Array key_value_;               // [rows, (streams + 1) * embedding]
};

}  // namespace aster::model
