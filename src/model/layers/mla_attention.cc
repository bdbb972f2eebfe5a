// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/layers/mla_attention.h"

#include "model/memory/memory.h"

namespace aster::model {

MlaAttention::MlaAttention(const Shape& shape, compute::Backend& backend,
                           compute::Commands& commands)
    : shape_(shape),
      format_(MlaRowFormat(shape)),
      backend_(backend),
      commands_(commands),
      low_operand_(commands.NewOperand()),
      output_operand_(commands.NewOperand()) {
  for (uint32_t head = 0; head < shape.head_count; ++head)
    head_operands_.push_back(commands.NewOperand());
  if (shape.is_indexed()) choice_.emplace(shape, backend, commands);
}

Status MlaAttention::Plan(size_t row_count) {
  const Mla& mla = shape_.mla;
  const size_t heads = shape_.head_count;
  const auto plan = [&](compute::Array& array, size_t columns) {
    return array.Shape(backend_, row_count, columns);
  };
  if (mla.query_rank > 0) TRY(plan(low_, mla.query_rank));
  TRY(plan(nope_, heads * mla.key_dim));
  TRY(plan(row_, shape_.head_dim));
  TRY(plan(queries_, heads * shape_.head_dim));
  TRY(plan(attended_, heads * shape_.head_dim));
  if (choice_) TRY(choice_->Plan(row_count));
  return plan(values_, heads * mla.value_dim);
}

Status MlaAttention::Run(uint32_t layer, const MlaWeights& weights, const compute::Angles& angles,
                         std::span<const compute::PageSpan> spans, compute::Operand& rows,
                         const compute::Tensor& out) {
  output_operand_->Set(TRY(Expand(layer, weights, angles, spans, rows)));
  return Contract(weights, out);
}

Result<compute::Tensor> MlaAttention::Expand(uint32_t layer, const MlaWeights& weights,
                                             const compute::Angles& angles,
                                             std::span<const compute::PageSpan> spans,
                                             compute::Operand& rows) {
  TRY(Project(layer, weights, rows));
  if (shape_.has_index(layer)) TRY(choice_->Run(layer, weights.index, angles, spans));
  TRY(Absorb(weights));
  TRY(Attend(layer, weights, angles, spans));
  TRY(MakeValues(weights));
  return values_.tensor();
}

Status MlaAttention::Contract(const MlaWeights& weights, const compute::Tensor& out) {
  const compute::Product output[] = {{&weights.output, output_operand_.get(), out}};
  return commands_.Multiply(output);
}

compute::Tensor MlaAttention::OfHead(const compute::Array& rows, size_t head, size_t first,
                                     size_t count) const {
  const size_t width = rows.tensor().columns / shape_.head_count;
  return rows.tensor().Columns(head * width + first, count);
}

// The shared row, and the queries of all heads in their two parts.
Status MlaAttention::Project(uint32_t layer, const MlaWeights& weights, compute::Operand& rows) {
  products_.clear();
  const bool has_index = shape_.has_index(layer);
  if (has_index) choice_->AddProducts(weights.index, rows, products_);
  products_.push_back({&weights.row, &rows, row_.tensor()});
  // Without a low rank, queries are made directly from the rows.
  if (shape_.mla.query_rank == 0) {
    AddQueries(weights, rows);
    TRY(commands_.Multiply(products_));
  } else {
    products_.push_back({&weights.query_low, &rows, low_.tensor()});
    TRY(commands_.Multiply(products_));
    TRY(commands_.Normalise({.rows = low_.tensor(),
                             .weight = weights.query_norm.tensor(),
                             .epsilon = shape_.norm_epsilon,
                             .out = low_.tensor()}));
    low_operand_->Set(low_.tensor());
    products_.clear();
    AddQueries(weights, *low_operand_);
    if (has_index) choice_->AddQueries(weights.index, *low_operand_, products_);
    TRY(commands_.Multiply(products_));
  }
  // Only the part of a row without RoPE is normed.
  const compute::Tensor unrotated = row_.tensor().Columns(0, shape_.mla.row_rank);
  return commands_.Normalise({.rows = unrotated,
                              .weight = weights.row_norm.tensor(),
                              .epsilon = shape_.norm_epsilon,
                              .out = unrotated});
}

// The part with RoPE goes directly to its place, after the columns of the other part.
void MlaAttention::AddQueries(const MlaWeights& weights, compute::Operand& rows) {
  products_.push_back({&weights.query_nope, &rows, nope_.tensor()});
  for (size_t head = 0; head < shape_.head_count; ++head) {
    products_.push_back({&weights.query_rope[head], &rows,
                         OfHead(queries_, head, shape_.mla.row_rank, shape_.rope.dimensions)});
  }
}

// The matrix that would make a head's key of a row is applied to the head's query instead.
Status MlaAttention::Absorb(const MlaWeights& weights) {
  products_.clear();
  for (size_t head = 0; head < shape_.head_count; ++head) {
    head_operands_[head]->Set(OfHead(nope_, head, 0, shape_.mla.key_dim));
    products_.push_back({&weights.keys[head], head_operands_[head].get(),
                         OfHead(queries_, head, 0, shape_.mla.row_rank)});
  }
  return commands_.Multiply(products_);
}

Status MlaAttention::Attend(uint32_t layer, const MlaWeights& weights,
                            const compute::Angles& angles,
                            std::span<const compute::PageSpan> spans) {
  const compute::Heads queries[] = {{.rows = queries_.tensor(),
                                     .count = shape_.head_count,
                                     .angles = angles,
                                     .unrotated = shape_.mla.row_rank}};
  TRY(commands_.FinishHeads(queries));
  // New rows are in the KV cache before attention, so that tokens of a prompt see each other.
  TRY(commands_.WriteRows({.pages = {layer, kMlaStream, spans},
                           .format = format_,
                           .heads = {.rows = row_.tensor(),
                                     .count = 1,
                                     .angles = angles,
                                     .unrotated = shape_.mla.row_rank}}));
  // With an index all rows count as far ones, and tokens see those that it has chosen: in this
  // layer, or in the last one with an index.
  const bool is_indexed = shape_.is_indexed();
  const uint32_t window = shape_.sliding_window > 0 ? shape_.sliding_window : UINT32_MAX;
  return commands_.AttendRows({.pages = {layer, kMlaStream, spans},
                               .window = is_indexed ? 0 : window,
                               .compressed_layer = layer,
                               .compressed_stream = kMlaStream,
                               .ratio = is_indexed ? 1u : 0u,
                               .top = shape_.index.top,
                               .chosen = is_indexed ? choice_->chosen() : compute::Tensor(),
                               .format = format_,
                               .compressed_format = format_,
                               .head_count = shape_.head_count,
                               .scale = AttentionScaleOf(shape_),
                               .queries = queries_.tensor(),
                               .sinks = weights.no_sinks.tensor(),
                               .out = attended_.tensor()});
}

// Makes values of the heads' output, without the part with RoPE, which only keys have.
Status MlaAttention::MakeValues(const MlaWeights& weights) {
  products_.clear();
  for (size_t head = 0; head < shape_.head_count; ++head) {
    head_operands_[head]->Set(OfHead(attended_, head, 0, shape_.mla.row_rank));
    products_.push_back({&weights.values[head], head_operands_[head].get(),
                         OfHead(values_, head, 0, shape_.mla.value_dim)});
  }
  return commands_.Multiply(products_);
}

}  // namespace aster::model
