// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/ngram_memory.h"

#include "model/memory.h"
#include "model/shape_deepseek41.h"

namespace aster::model {

NgramMemory::NgramMemory(const Shape& shape, compute::Backend& backend, compute::Commands& commands)
    : shape_(shape),
      ngrams_(*shape_.ngrams),
      backend_(backend),
      commands_(commands),
      operand_(commands.NewOperand()) {}

Status NgramMemory::Plan(size_t row_count) {
  const size_t rows = row_count * ngrams_.rows();
  ids_.resize(rows);
  TRY(found_.Shape(backend_, rows, ngrams_.dim));
  return key_value_.Shape(backend_, row_count,
                          (size_t{shape_.streams.count} + 1) * shape_.embedding);
}

Status NgramMemory::Run(uint32_t layer, const NgramWeights& weights,
                        std::span<const compute::PageSpan> spans, std::span<const int32_t> tokens,
                        const compute::Tensor& streams) {
  const size_t index = NgramIndexOf(ngrams_, layer);
  const auto part = [&](const std::vector<uint64_t>& all, size_t of_layer) {
    return std::span(all).subspan(index * of_layer, of_layer);
  };
  // Which rows of the table each token is given.
  TRY(commands_.HashNgrams({.pages = {layer, NgramStreamOf(shape_, layer), spans},
                            .tokens = tokens,
                            .classes = ngrams_.classes,
                            .padding = ngrams_.padding,
                            .heads = ngrams_.heads,
                            .multipliers = part(ngrams_.multipliers, ngrams_.length),
                            .row_counts = part(ngrams_.row_counts, ngrams_.rows()),
                            .first_rows = part(ngrams_.first_rows, ngrams_.rows()),
                            .ids = ids_}));
  // These, one behind the other, become a key for every stream and a value.
  TRY(commands_.Embed(*weights.table, ids_, /*copies=*/1, found_.tensor()));
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
