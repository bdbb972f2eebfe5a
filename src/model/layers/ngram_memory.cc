// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/layers/ngram_memory.h"

#include "model/families/shape_deepseek41.h"
#include "model/memory/memory.h"

namespace aster::model {

NgramMemory::NgramMemory(const Shape& shape, compute::Backend& backend, compute::Commands& commands)
    : shape_(shape),
      ngrams_(*shape_.ngrams),
      backend_(backend),
      commands_(commands),
      operand_(commands.NewOperand()),
      ids_(ngrams_.layers.size()) {}

Status NgramMemory::Plan(size_t row_count) {
  const size_t rows = row_count * ngrams_.rows();
  for (std::vector<int32_t>& of_layer : ids_) of_layer.resize(rows);
  TRY(found_.Shape(backend_, rows, ngrams_.dim));
  return key_value_.Shape(backend_, row_count,
                          (size_t{shape_.streams.count} + 1) * shape_.embedding);
}

Status NgramMemory::SetTokens(uint32_t begin, uint32_t end,
                              std::span<const compute::PageSpan> spans,
                              std::span<const int32_t> tokens) {
  for (size_t i = 0; i < ngrams_.layers.size(); ++i) {
    if (begin <= ngrams_.layers[i] && ngrams_.layers[i] < end) TRY(FindRows(i, spans, tokens));
  }
  return Ok();
}

// Finds the rows of the layer's table for each token.
Status NgramMemory::FindRows(size_t index, std::span<const compute::PageSpan> spans,
                             std::span<const int32_t> tokens) {
  const uint32_t layer = ngrams_.layers[index];
  const auto part = [&](const std::vector<uint64_t>& all, size_t of_layer) {
    return std::span(all).subspan(index * of_layer, of_layer);
  };
  return commands_.HashNgrams({.pages = {layer, NgramStreamOf(shape_, layer), spans},
                               .tokens = tokens,
                               .classes = ngrams_.classes,
                               .padding = ngrams_.padding,
                               .heads = ngrams_.heads,
                               .multipliers = part(ngrams_.multipliers, ngrams_.length),
                               .row_counts = part(ngrams_.row_counts, ngrams_.rows()),
                               .first_rows = part(ngrams_.first_rows, ngrams_.rows()),
                               .ids = ids_[index]});
}

Status NgramMemory::Run(uint32_t layer, const NgramWeights& weights,
                        const compute::Tensor& streams) {
  const std::vector<int32_t>& ids = ids_[NgramIndexOf(ngrams_, layer)];
  // These rows, one after the other, become a key for every stream and a value.
  TRY(commands_.Embed(*weights.table, ids, /*copies=*/1, found_.tensor()));
  operand_->Set(found_.tensor().As(size_t{ngrams_.rows()} * ngrams_.dim));
  const compute::Product product[] = {{&weights.key_value, operand_.get(), key_value_.tensor()}};
  TRY(commands_.Multiply(product));
  return commands_.AddGatedValue({.streams = shape_.streams.count,
                                  .epsilon = shape_.norm_epsilon,
                                  .weights = weights.weights.tensor(),
                                  .key_value = key_value_.tensor(),
                                  .rows = streams});
}

}  // namespace aster::model
