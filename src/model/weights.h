// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The weights of a slice of a model, in memory and packed: what a forward pass multiplies with.
// Weights of other slices are never read. Must not know sequences or where the slice's neighbours
// are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compute/context.h"
#include "compute/matrix.h"
#include "gguf/model_files.h"
#include "model/shape.h"
#include "model/slice.h"

namespace aster::model {

struct ExpertWeights {
  compute::Matrix gate;  // [feed_forward, embedding]
  compute::Matrix up;    // [feed_forward, embedding]
  compute::Matrix down;  // [embedding, feed_forward]
};

// Empty where the architecture has no such weight.
struct LayerWeights {
  std::vector<float> attention_norm;  // [embedding]
  compute::Matrix query;              // [head_count * head_dim, embedding]
  compute::Matrix key;                // [kv_head_count * head_dim, embedding]
  compute::Matrix value;              // the same
  std::vector<float> query_bias;      // [head_count * head_dim]
  std::vector<float> key_bias;        // [kv_head_count * head_dim]
  std::vector<float> value_bias;      // the same
  std::vector<float> query_norm;      // [head_dim]
  std::vector<float> key_norm;        // [head_dim]
  compute::Matrix output;             // [embedding, head_count * head_dim]

  std::vector<float> feed_forward_norm;  // [embedding]
  ExpertWeights dense;
  compute::Matrix router;  // [experts, embedding]
  std::vector<ExpertWeights> experts;
};

// Constant after loading, so any number of threads may read. Keeps views into the files for the
// embedding: they outlive it.
struct Weights {
  Shape shape;
  Slice slice;
  const gguf::Tensor* embedding = nullptr;  // of the file; rows are decoded as tokens ask for them
  std::vector<float> rope_factors;          // [rope.dimensions / 2], or empty
  std::vector<LayerWeights> layers;         // of the slice
  std::vector<float> output_norm;           // [embedding]
  compute::Matrix head;                     // [vocab_size, embedding]

  // Memory that packed weights take.
  uint64_t PackedBytes() const;
};

using LoadProgress = std::function<void(uint64_t done_bytes, uint64_t total_bytes)>;

// Packs the slice on all threads; the files' pages are let go as soon as they are packed.
// CheckSupport's obstacles are errors.
Result<Weights> LoadWeights(const gguf::ModelFiles& files, const Slice& slice,
                            compute::Context& context, const LoadProgress& progress = nullptr);

}  // namespace aster::model
