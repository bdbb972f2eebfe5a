// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Hyper-connections, the residual as several streams: makes the input of each half of a layer, and
// adds its output. Must not know what the halves compute.
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
// of the residual [rows, hidden_width]. If a half computes the weights of the next mix, they are
// after the streams.
class StreamMixer {
 public:
  StreamMixer(const Shape& shape, compute::Backend& backend, compute::Commands& commands)
      : shape_(shape), backend_(backend), commands_(commands), operand_(commands.NewOperand()) {}

  // Room for a batch of `row_count` rows.
  Status Plan(size_t row_count);

  // For models that mix ahead: sets the weights before the first half, which takes stream 0.
  Status BeginAhead(const compute::Tensor& streams);

  // in [rows, embedding] = the input of half a layer from `streams`.
  Status Before(const MixWeights& weights, const compute::Tensor& streams,
                const compute::Tensor& in);
  // streams = themselves, mixed with the weights that Before has computed, and the output [rows,
  // embedding] of the half.
  Status After(const compute::Tensor& out, const compute::Tensor& streams);
  // Joins the streams to one row at the end: [rows, embedding]. Without weights if the last half
  // has computed them.
  Status Merge(const MixWeights& weights, const compute::Tensor& streams,
               const compute::Tensor& out);

 private:
  Status FindWeights(const MixWeights& weights, bool is_merge, const compute::Tensor& streams);

  const Shape shape_;
  compute::Backend& backend_;
  compute::Commands& commands_;
  const std::unique_ptr<compute::Operand> operand_;
  compute::Array normed_;     // [rows, streams * embedding]
  compute::Array weights_;    // [rows, weights of a mix]
  compute::Tensor numbers_;   // weights of the newest mix
  std::vector<float> first_;  // the weights of BeginAhead, for all rows
};

}  // namespace aster::model
