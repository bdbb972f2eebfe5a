// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The forward pass of a slice over a batch: spans of many sequences go through every matrix product
// together. What a row gives does not depend on what else is in the batch, on how its sequence was
// cut, or on how many threads there are. Must not know why tokens are computed, nor where the other
// slices are.
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
#include "model/stream_mixer.h"
#include "model/weights.h"

namespace aster::model {

// Which rows of a segment the head is asked about.
enum class Wanted : uint8_t { kNone, kLast, kAll };

// The next tokens of one sequence.
struct Segment {
  kv::PageTable* table;             // of the slice's layers; the tokens follow what it holds
  std::span<const int32_t> tokens;  // at least one
  const float* hidden = nullptr;    // [tokens, hidden_width], for a slice without the embedding
  Wanted wanted = Wanted::kLast;    // for a slice with the head
  uint32_t guesses = 0;             // of the tokens, at their end, that may prove wrong
};

// Rows of all segments, one after the other; valid until the next run.
struct Output {
  std::span<const float> hidden;  // [rows, hidden_width], behind the last layer
  std::span<const float> logits;  // [wanted rows, vocab_size], of a slice with the head
};

// Keeps its scratch memory from batch to batch. Not for concurrent use. Weights outlive it.
class Forward {
 public:
  // `head` [vocab_size, embedding] where it is not the weights' own.
  Forward(const Weights& weights, const MemoryOptions& memory, compute::Context& context,
          const compute::Matrix* head = nullptr);

  // Computes the segments (of different sequences) and advances their tables. On failure no table
  // has changed.
  Result<Output> Run(std::span<const Segment> segments) { return Run(segments, weights_.slice); }
  // Only some of the layers, with the embedding and the head only where `part` has them: as if
  // there were no others. Of the tables, too, only these layers matter and change.
  Result<Output> Run(std::span<const Segment> segments, const Slice& part);

 private:
  Status CheckSegments(std::span<const Segment> segments, const Slice& part) const;
  Status Plan(std::span<const Segment> segments, kv::LayerRange layers);
  Status Embed(std::span<const Segment> segments);
  Status MakeAngles();
  Status RunLayer(uint32_t layer, const LayerWeights& weights);
  Status RunAttention(uint32_t layer, const LayerWeights& weights);
  Status RunMixedLayer(uint32_t layer, const LayerWeights& weights);
  void FinishHeads(const LayerWeights& weights);
  Status RunHead(std::span<const Segment> segments, Output& output);
  void Normalise(const float* rows, size_t row_count, const std::vector<float>& weight, float* out);
  void AddToRows(const float* more);

  const Weights& weights_;
  const compute::Matrix& head_;
  const Shape& shape_;
  compute::Context& context_;
  Attend attend_;
  std::optional<LatentAttention> latent_;  // instead, where the architecture has it
  StreamMixer mixer_;                      // where the residual has several streams
  FeedForward feed_forward_;
  std::vector<double> frequencies_;  // [rope.dimensions / 2]
  double magnitude_ = 1.0;           // of cosines and sines

  size_t row_count_ = 0;
  std::vector<AttendSpan> spans_;
  std::vector<int64_t> positions_;  // [rows]
  std::vector<int32_t> tokens_;     // [rows]
  compute::Buffer rows_;            // [rows, hidden_width], the residual
  compute::Buffer wanted_;          // [wanted rows, hidden_width]
  compute::Buffer normed_;          // [rows, embedding]
  compute::Buffer more_;            // [rows, embedding], to be added to rows_
  compute::Buffer queries_;         // [rows, head_count * head_dim]
  compute::Buffer keys_;            // [rows, kv_head_count * head_dim]
  compute::Buffer values_;          // the same
  compute::Buffer attended_;        // [rows, head_count * head_dim]
  compute::Buffer cosines_;         // [rows, rope.dimensions / 2]
  compute::Buffer sines_;           // the same
  compute::Buffer logits_;          // [wanted rows, vocab_size]
  compute::PreparedRows prepared_;
};

}  // namespace aster::model
