// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a token's row holds after the residual for later layers of DeepSeek V4.1, so that a slice
// can begin with any layer that chooses compressed rows. Must not know where rows are.
#pragma once

#include <cstdint>

#include "compute/tensor.h"
#include "model/shape/shape.h"

namespace aster::model {

// Room for the weights of the next half's mix: whole vectors.
inline constexpr uint32_t kMixWidth = 16;

// Parts of rows [rows, hidden_width].
inline compute::Tensor ResidualOf(const Shape& shape, const compute::Tensor& rows) {
  return rows.Columns(0, shape.residual_width());
}
inline compute::Tensor CarriedOf(const Shape& shape, const compute::Tensor& rows) {
  return rows.Columns(shape.residual_width(), shape.carried_width());
}
// The weights of the next mix: [rows, streams].
inline compute::Tensor AheadOf(const Shape& shape, const compute::Tensor& rows) {
  return rows.Columns(shape.residual_width(), shape.streams.count);
}
// The compressed row that the token has completed, after RoPE, and the index's: [rows, head_dim],
// [rows, index_dim].
inline compute::Tensor CompressedRowsOf(const Shape& shape, const compute::Tensor& rows) {
  return rows.Columns(shape.residual_width() + kMixWidth, shape.head_dim);
}
inline compute::Tensor IndexRowsOf(const Shape& shape, const compute::Tensor& rows) {
  return rows.Columns(shape.residual_width() + kMixWidth + shape.head_dim, shape.latent.index_dim);
}
// Indices of the chosen blocks, as floats: [rows, top_blocks].
inline compute::Tensor ChosenBlocksOf(const Shape& shape, const compute::Tensor& rows) {
  const uint32_t first = shape.hidden_width() - shape.latent.top_blocks;
  return rows.Columns(first, shape.latent.top_blocks);
}

}  // namespace aster::model
