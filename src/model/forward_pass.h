// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One batch on its way through the layers of a slice, with the memory that takes: what every
// architecture computes, step by step. Must not know who asked, nor which other batches are under
// way.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/buffer.h"
#include "compute/context.h"
#include "compute/product.h"
#include "kv/page_table.h"
#include "model/attend.h"
#include "model/feed_forward.h"
#include "model/latent_attention.h"
#include "model/memory.h"
#include "model/segment.h"
#include "model/stream_mixer.h"
#include "model/weights.h"

namespace aster::model {

// What all passes over the same weights have in common. Constant.
struct PassWeights {
  const Weights& weights;
  const compute::Matrix& head;      // [vocab_size, embedding]
  std::vector<double> frequencies;  // [rope.dimensions / 2], of plain attention
  double magnitude = 1.0;           // of cosines and sines
};

// Used for one batch after the other; its memory is as large as the largest of them needed. Not for
// concurrent use. Weights and context outlive it.
class ForwardPass {
 public:
  ForwardPass(const PassWeights& weights, const MemoryOptions& memory, compute::Context& context);

  // Takes in a batch: reserves room in the tables, which must not change until it is done. On
  // failure no table has changed.
  Status Begin(std::span<const Segment> segments, const Slice& part);
  // Goes on until it is done, and has advanced the tables, or has to wait. On failure no table has
  // advanced, and the batch is over.
  Result<Progress> Advance();
  // Of a batch that is done, until the next begins.
  const Output& output() const { return output_; }

 private:
  Status CheckSegments() const;
  Status Plan();
  Status Embed();
  Status MakeAngles();
  Status RunLayer(uint32_t layer, const LayerWeights& weights);
  Status RunAttention(uint32_t layer, const LayerWeights& weights);
  Status RunMixedLayer(uint32_t layer, const LayerWeights& weights);
  void FinishHeads(const LayerWeights& weights);
  Status RunHead();
  void Normalise(const float* rows, size_t row_count, const std::vector<float>& weight, float* out);
  void AddToRows(const float* more);

  const PassWeights& shared_;
  const Weights& weights_;
  const Shape& shape_;
  compute::Context& context_;
  Attend attend_;
  std::optional<LatentAttention> latent_;  // instead, where the architecture has it
  StreamMixer mixer_;                      // where the residual has several streams
  FeedForward feed_forward_;

  // The batch.
  std::vector<Segment> segments_;  // their tokens are spans of tokens_
  Slice part_;
  size_t row_count_ = 0;
  std::vector<AttendSpan> spans_;
  std::vector<int64_t> positions_;  // [rows]
  std::vector<int32_t> tokens_;     // [rows]
  Output output_;

  compute::Buffer rows_;      // [rows, hidden_width], the residual
  compute::Buffer wanted_;    // [wanted rows, hidden_width]
  compute::Buffer normed_;    // [rows, embedding]
  compute::Buffer more_;      // [rows, embedding], to be added to rows_
  compute::Buffer queries_;   // [rows, head_count * head_dim]
  compute::Buffer keys_;      // [rows, kv_head_count * head_dim]
  compute::Buffer values_;    // the same
  compute::Buffer attended_;  // [rows, head_count * head_dim]
  compute::Buffer cosines_;   // [rows, rope.dimensions / 2]
  compute::Buffer sines_;     // the same
  compute::Buffer logits_;    // [wanted rows, vocab_size]
  compute::PreparedRows prepared_;
};

}  // namespace aster::model
