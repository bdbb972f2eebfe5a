// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The residual as several streams: what each half of a layer is given of them, and how its output
// comes back. Must not know what the halves compute.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "compute/buffer.h"
#include "compute/context.h"
#include "compute/product.h"
#include "model/weights.h"

namespace aster::model {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class StreamMixer {
 public:
  StreamMixer(const Shape& shape, compute::Context& context) : shape_(shape), context_(context) {}

  // in = what half a layer is given of `streams` [rows, streams * embedding]: [rows, embedding].
  Status Before(const MixWeights& weights, const float* streams, size_t row_count, float* in);
  // streams = themselves mixed, as Before found it, and the output [rows, embedding] of the half.
  void After(const float* out, size_t row_count, float* streams);
  // The streams as one row at the end: [rows, embedding].
  Status Merge(const MergeWeights& weights, const float* streams, size_t row_count, float* out);

 private:
  Status Multiply(const compute::Matrix& mix, const float* streams, size_t row_count);
  // out = the streams' sum, weighted by the first numbers of weights_.
  void SumUp(const float* streams, size_t row_count, float* out);

  const Shape shape_;
  compute::Context& context_;
  compute::Buffer normed_;   // [rows, streams * embedding]
  compute::Buffer weights_;  // [rows, weight_stride_]
  size_t weight_stride_ = 0;
  compute::PreparedRows prepared_;
};

}  // namespace aster::model
