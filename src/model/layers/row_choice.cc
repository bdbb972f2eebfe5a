// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/layers/row_choice.h"

#include "model/memory/memory.h"

namespace aster::model {
namespace {

// The epsilon of the index's norm; files do not have it.
constexpr float kNormEpsilon = 1e-6f;

}  // namespace

RowChoice::RowChoice(const Shape& shape, compute::Backend& backend, compute::Commands& commands)
    : shape_(shape),
      format_(MlaIndexFormat(shape)),
      rope_layout_(shape.index_rope_pairs_halves() ? kernels::RopeLayout::kHalves
                                                   : kernels::RopeLayout::kAdjacent),
      backend_(backend),
      commands_(commands) {}

Status RowChoice::Plan(size_t row_count) {
  const RowIndex& index = shape_.index;
  TRY(rows_.Shape(backend_, row_count, index.dim));
  TRY(queries_.Shape(backend_, row_count, size_t{index.heads} * index.dim));
  TRY(shares_.Shape(backend_, row_count, index.heads));
  return chosen_.Shape(backend_, row_count, index.top, compute::Element::kI32);
}

void RowChoice::AddProducts(const RowIndexWeights& weights, compute::Operand& rows,
                            std::vector<compute::Product>& products) const {
  products.push_back({&weights.row, &rows, rows_.tensor()});
  products.push_back({&weights.shares, &rows, shares_.tensor()});
}

void RowChoice::AddQueries(const RowIndexWeights& weights, compute::Operand& low,
                           std::vector<compute::Product>& products) const {
  products.push_back({&weights.query, &low, queries_.tensor()});
}

Status RowChoice::Run(uint32_t layer, const RowIndexWeights& weights, const compute::Angles& angles,
                      std::span<const compute::PageSpan> spans) {
  const compute::PagesOf pages = {layer, kMlaIndexStream, spans};
  // The matrix's outputs have mean zero, so LayerNorm becomes a norm by size.
  TRY(commands_.Normalise({.rows = rows_.tensor(),
                           .weight = weights.norm.tensor(),
                           .epsilon = kNormEpsilon,
                           .out = rows_.tensor()}));
  // RoPE applies to the first numbers of rows and queries.
  TRY(commands_.WriteRows({.pages = pages,
                           .format = format_,
                           .heads = {.rows = rows_.tensor(),
                                     .count = 1,
                                     .bias = weights.bias.tensor(),
                                     .angles = angles,
                                     .layout = rope_layout_}}));
  const compute::Heads queries[] = {{.rows = queries_.tensor(),
                                     .count = shape_.index.heads,
                                     .angles = angles,
                                     .layout = rope_layout_}};
  TRY(commands_.FinishHeads(queries));
  // The definition divides all ranks by the same number, which does not change their order.
  return commands_.Rank({.pages = pages,
                         .ratio = 1,
                         .format = format_,
                         .heads = shape_.index.heads,
                         .queries = queries_.tensor(),
                         .weights = shares_.tensor(),
                         .top = shape_.index.top,
                         .chosen = chosen_.tensor()});
}

}  // namespace aster::model
