// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/layers/delta_attention.h"

#include <limits>

#include "model/memory/memory.h"

namespace aster::model {

Status DeltaAttention::Plan(size_t row_count) {
  const Recurrence& recurrence = shape_.recurrence;
  const auto plan = [&](compute::Array& array, size_t columns) {
    return array.Shape(backend_, row_count, columns);
  };
  TRY(plan(mixed_, recurrence.channels()));
  TRY(plan(gate_, recurrence.values()));
  TRY(plan(betas_, recurrence.value_heads));
  TRY(plan(times_, recurrence.value_heads));
  return plan(found_, recurrence.values());
}

Status DeltaAttention::Run(uint32_t layer, const DeltaWeights& weights,
                           std::span<const compute::PageSpan> spans, compute::Operand& rows,
                           const compute::Tensor& out) {
  TRY(Project(weights, rows, mixed_.tensor(), gate_.tensor()));
  return Finish(layer, weights, spans, out);
}

Status DeltaAttention::PlanPart(size_t row_count, size_t channels, size_t values) {
  TRY(own_mixed_.Shape(backend_, row_count, channels));
  return own_gate_.Shape(backend_, row_count, values);
}

Status DeltaAttention::ProjectPart(const DeltaWeights& weights, compute::Operand& rows) {
  return Project(weights, rows, own_mixed_.tensor(), own_gate_.tensor());
}

Status DeltaAttention::Finish(uint32_t layer, const DeltaWeights& weights,
                              std::span<const compute::PageSpan> spans,
                              const compute::Tensor& out) {
  TRY(RunStates(layer, weights, spans));
  return ProjectOutput(weights, out);
}

// All products of the half's input, together.
Status DeltaAttention::Project(const DeltaWeights& weights, compute::Operand& rows,
                               const compute::Tensor& mixed, const compute::Tensor& gate) {
  const compute::Product products[] = {{&weights.mixed, &rows, mixed},
                                       {&weights.gate, &rows, gate},
                                       {&weights.betas, &rows, betas_.tensor()},
                                       {&weights.times, &rows, times_.tensor()}};
  return commands_.Multiply(products);
}

Status DeltaAttention::RunStates(uint32_t layer, const DeltaWeights& weights,
                                 std::span<const compute::PageSpan> spans) {
  const Recurrence& recurrence = shape_.recurrence;
  return commands_.RunDeltaNet({.pages = {layer, kStateStream, spans},
                                .input_stream = kStateInputStream,
                                .key_heads = recurrence.key_heads,
                                .value_heads = recurrence.value_heads,
                                .key_dim = recurrence.key_dim,
                                .value_dim = recurrence.value_dim,
                                .taps = recurrence.taps,
                                .in_turn = recurrence.in_turn,
                                .mixed = mixed_.tensor(),
                                .betas = betas_.tensor(),
                                .times = times_.tensor(),
                                .convolution = weights.convolution.tensor(),
                                .rates = weights.rates.tensor(),
                                .time_bias = weights.time_bias.tensor(),
                                .out = found_.tensor()});
}

// The states' outputs are normed by heads and multiplied with the gate's silu.
Status DeltaAttention::ProjectOutput(const DeltaWeights& weights, const compute::Tensor& out) {
  const compute::Heads heads[] = {{.rows = found_.tensor(),
                                   .count = shape_.recurrence.value_heads,
                                   .norm = compute::HeadNorm::kWeighted,
                                   .norm_weight = weights.norm.tensor(),
                                   .epsilon = shape_.norm_epsilon}};
  TRY(commands_.FinishHeads(heads));
  TRY(commands_.Gate(gate_.tensor(), found_.tensor(), compute::GateKind::kSwiglu,
                     std::numeric_limits<float>::infinity()));
  operand_->Set(gate_.tensor());
  const compute::Product output[] = {{&weights.output, operand_.get(), out}};
  return commands_.Multiply(output);
}

}  // namespace aster::model
