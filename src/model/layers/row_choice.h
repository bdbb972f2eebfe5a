// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The index of a layer whose heads see only some rows (DSA: DeepSeek V3.2, GLM 5). It has a narrow
// row for every token; each token's queries rank all rows before it. Must not know what the chosen
// rows are used for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/commands.h"
#include "kernels/latent.h"
#include "model/weights/weights.h"

namespace aster::model {

// Keeps its scratch memory from batch to batch, and the choice from layer to layer. Not for
// concurrent use.
class RowChoice {
 public:
  RowChoice(const Shape& shape, compute::Backend& backend, compute::Commands& commands);

  // Room for a batch of `row_count` rows.
  Status Plan(size_t row_count);

  // Adds the index's products: of the half's input, and of the low rank of its queries.
  void AddProducts(const RowIndexWeights& weights, compute::Operand& rows,
                   std::vector<compute::Product>& products) const;
  void AddQueries(const RowIndexWeights& weights, compute::Operand& low,
                  std::vector<compute::Product>& products) const;
  // After these products: writes the tokens' rows, and ranks.
  Status Run(uint32_t layer, const RowIndexWeights& weights, const compute::Angles& angles,
             std::span<const compute::PageSpan> spans);

  // [rows, top], of the last layer that has an index; unset for tokens that see all rows.
  const compute::Tensor& chosen() const { return chosen_.tensor(); }

 private:
  const Shape shape_;
  const kernels::LatentFormat format_;
  const kernels::RopeLayout rope_layout_;
  compute::Backend& backend_;
  compute::Commands& commands_;

  compute::Array rows_;     // [rows, dim]
  compute::Array queries_;  // [rows, heads * dim]
  compute::Array shares_;   // [rows, heads], weights of the heads in a rank
  compute::Array chosen_;   // [rows, top]
};

}  // namespace aster::model
