// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The weights of a drafter of blocks (model/files/block_shape.h), packed. Must not know who drafts.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/matrix.h"
#include "gguf/model_files.h"
#include "model/files/block_shape.h"
#include "model/weights/weights.h"

namespace aster::model {

// Constant after loading. Keeps views into the files, which outlive it.
struct BlockWeights {
  BlockShape shape;
  compute::Matrix join;      // [embedding, taps * embedding]
  compute::Array join_norm;  // [embedding]
  // Its layers with the norms after them, the embedding (the model's or its own), and its own head.
  Weights layers;
  const gguf::Tensor* pair_first = nullptr;  // [vocab_size, pair_rank] of the file, or none
  compute::Matrix pair_second;               // [drafted vocabulary, pair_rank]
  std::vector<float> confidence;             // [embedding + pair_rank], or none
  float confidence_bias = 0.0f;
  std::vector<int32_t> own_vocab;  // [drafted vocabulary] tokens of the model, or none

  uint64_t PackedBytes() const { return join.bytes() + layers.PackedBytes() + pair_second.bytes(); }
};

// Loads to the back end of the model's last layers and head. `embedding`: the model's, which
// outlives the weights; null if the drafter has its own.
Result<BlockWeights> LoadBlockWeights(const gguf::ModelFiles& files, const BlockShape& shape,
                                      const gguf::Tensor* embedding, compute::Backend& backend);

}  // namespace aster::model
