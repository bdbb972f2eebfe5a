// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The residual as several streams: what each half of a layer is given of them, and how its output
// comes back. Must not know what the halves compute.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/commands.h"
#include "model/weights/weights.h"

namespace aster::model {

// Keeps its scratch memory from batch to batch. Not for concurrent use. Rows of streams are those
// of the residual [rows, hidden_width]: where a half finds what the next one's input is mixed by,
// that is behind the streams.
class StreamMixer {
 public:
  StreamMixer(const Shape& shape, compute::Backend& backend, compute::Commands& commands)
      : shape_(shape), backend_(backend), commands_(commands), operand_(commands.NewOperand()) {}

  // Room for a batch of `row_count` rows.
  Status Plan(size_t row_count);

  // What is carried before the first half of all, which takes the first stream; of models that mix
  // ahead.
  Status BeginAhead(const compute::Tensor& streams);

  // in [rows, embedding] = what half a layer is given of `streams`.
  Status Before(const MixWeights& weights, const compute::Tensor& streams,
                const compute::Tensor& in);
  // streams = themselves mixed, as Before found it, and the output [rows, embedding] of the half.
  Status After(const compute::Tensor& out, const compute::Tensor& streams);
  // The streams as one row at the end: [rows, embedding]. Without weights where the last half has
  // found them.
  Status Merge(const MixWeights& weights, const compute::Tensor& streams,
               const compute::Tensor& out);

 private:
  Status FindWeights(const MixWeights& weights, bool is_merge, const compute::Tensor& streams);

  const Shape shape_;
  compute::Backend& backend_;
  compute::Commands& commands_;
  const std::unique_ptr<compute::Operand> operand_;
  compute::Array normed_;     // [rows, streams * embedding]
  compute::Array weights_;    // [rows, numbers of a mix]
  compute::Tensor numbers_;   // of the newest mix
  std::vector<float> first_;  // what BeginAhead takes, for all rows
};

}  // namespace aster::model
