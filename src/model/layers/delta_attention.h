// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The attention half of layers that keep a state for every head in place of keys and values: gated
// delta nets. Must not know tokens or what the rows came from.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/commands.h"
#include "model/shape/shape.h"
#include "model/weights/weights.h"

namespace aster::model {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class DeltaAttention {
 public:
  DeltaAttention(const Shape& shape, compute::Backend& backend, compute::Commands& commands)
      : shape_(shape), backend_(backend), commands_(commands), operand_(commands.NewOperand()) {}

  // Room for a batch of `row_count` rows.
  Status Plan(size_t row_count);

  // out [rows, embedding] = the half's output for `rows`.
  Status Run(uint32_t layer, const DeltaWeights& weights, std::span<const compute::PageSpan> spans,
             compute::Operand& rows, const compute::Tensor& out);

  // The same in two halves, for a group that computes the layer: each part has all states. First
  // this part's columns of the states' inputs and of the gate, as many as the weights have rows of
  // these.
  Status PlanPart(size_t row_count, size_t channels, size_t values);
  Status ProjectPart(const DeltaWeights& weights, compute::Operand& rows);
  const compute::Tensor& own_mixed() const { return own_mixed_.tensor(); }
  const compute::Tensor& own_gate() const { return own_gate_.tensor(); }
  // The tensors for the columns of all parts.
  const compute::Tensor& mixed() const { return mixed_.tensor(); }
  const compute::Tensor& gate() const { return gate_.tensor(); }
  // Then the output, of which the part has some columns.
  Status Finish(uint32_t layer, const DeltaWeights& weights,
                std::span<const compute::PageSpan> spans, const compute::Tensor& out);

 private:
  Status Project(const DeltaWeights& weights, compute::Operand& rows, const compute::Tensor& mixed,
                 const compute::Tensor& gate);
  Status RunStates(uint32_t layer, const DeltaWeights& weights,
                   std::span<const compute::PageSpan> spans);
  Status ProjectOutput(const DeltaWeights& weights, const compute::Tensor& out);

  const Shape shape_;
  compute::Backend& backend_;
  compute::Commands& commands_;

  compute::Array own_mixed_;  // [rows, own channels], for a part
  compute::Array own_gate_;   // [rows, own values]
  compute::Array mixed_;      // [rows, channels]
  compute::Array gate_;       // [rows, values]
  compute::Array betas_;      // [rows, value_heads]
  compute::Array times_;      // the same
  compute::Array found_;      // [rows, values], the states' outputs for the queries
  const std::unique_ptr<compute::Operand> operand_;
};

}  // namespace aster::model
