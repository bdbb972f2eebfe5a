// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The feed-forward half of a layer: one dense network, or a mixture of experts (MoE), of which a
// router picks some for each row; the rows of one expert are computed together. Must not know
// attention.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/buffer.h"
#include "compute/context.h"
#include "compute/product.h"
#include "model/weights.h"

namespace aster::model {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class FeedForward {
 public:
  FeedForward(const Shape& shape, compute::Context& context) : shape_(shape), context_(context) {}

  // out = the layer's feed-forward of `rows` [row_count, embedding]; out is [row_count, embedding].
  // `tokens` [row_count] are what the rows stand for.
  Status Run(const LayerWeights& layer, compute::PreparedRows& rows,
             std::span<const int32_t> tokens, float* out);

 private:
  // The rows that one expert works on.
  struct Group {
    const ExpertWeights* expert;
    std::vector<uint32_t> rows;     // of the batch
    std::vector<uint32_t> choices;  // which of its row's choices the expert is
    size_t first = 0;               // of the rows of all groups
    compute::PreparedRows input;
    compute::PreparedRows hidden;
  };
  // The rows that go through an expert, one after the other.
  size_t ExpertRows(size_t row_count) const {
    return row_count * (shape_.experts.used + shape_.experts.shared);
  }

  Status RunDense(const ExpertWeights& dense, compute::PreparedRows& rows, float* out);
  Status RunExperts(const LayerWeights& layer, compute::PreparedRows& rows,
                    std::span<const int32_t> tokens, float* out);
  Status Route(const LayerWeights& layer, compute::PreparedRows& rows,
               std::span<const int32_t> tokens);
  void Choose(const LayerWeights& layer, int32_t token, const float* scores, int32_t* ids) const;
  void MakeGroups(const LayerWeights& layer, size_t row_count);
  Status ExpandGroups(const LayerWeights& layer, compute::PreparedRows& rows);
  Status ContractGroups(const LayerWeights& layer, size_t row_count);
  void SumUp(size_t row_count, float* out);
  void Swiglu(size_t row_count, size_t width);

  const Shape shape_;
  compute::Context& context_;
  compute::PreparedRows hidden_;         // of the dense network
  compute::Buffer gate_;                 // [rows, feed_forward]
  compute::Buffer up_;                   // [rows, feed_forward]
  compute::Buffer logits_;               // [rows, experts]
  compute::Buffer down_;                 // [ExpertRows, embedding], by group
  std::vector<int32_t> ids_;             // [rows, used]
  std::vector<float> shares_;            // [rows, used] weights of the chosen experts
  std::vector<uint32_t> places_;         // [rows, used] row of down_ that holds the choice's output
  std::vector<Group> groups_;            // [experts]; those without rows are skipped
  compute::PreparedRows shared_hidden_;  // of the shared expert, whose rows are behind all groups
};

}  // namespace aster::model
