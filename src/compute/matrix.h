// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A matrix of weights as the kernels want it: packed once, in memory of its own or beside others of
// its tensor. Must not know layers or what the matrix is for.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/result.h"
#include "compute/buffer.h"
#include "compute/context.h"
#include "gguf/file.h"
#include "kernels/weight_type.h"

namespace aster::compute {

// Constant after packing, so any number of threads may use it.
class Matrix {
 public:
  Matrix() = default;  // no rows

  // The matrix of a tensor [columns, rows], or matrix `index` of a tensor [columns, rows,
  // matrices]. Packs on all threads. An error where the type cannot be computed with or memory is
  // short.
  static Result<Matrix> Pack(const gguf::Tensor& tensor, size_t index, Context& context);

  // Every matrix of a tensor [columns, rows, matrices]. They share one piece of memory, which lies
  // in large pages even where one of them does not fill one.
  static Result<std::vector<Matrix>> PackAll(const gguf::Tensor& tensor, Context& context);

  kernels::WeightType type() const { return type_; }
  size_t rows() const { return rows_; }
  size_t columns() const { return columns_; }
  size_t panel_count() const;
  size_t bytes() const { return bytes_; }
  const uint8_t* packed() const { return packed_; }

 private:
  static Result<std::vector<Matrix>> PackSome(const gguf::Tensor& tensor, size_t first,
                                              size_t count, Context& context);

  kernels::WeightType type_ = kernels::WeightType::kF32;
  size_t rows_ = 0;
  size_t columns_ = 0;
  size_t bytes_ = 0;
  const uint8_t* packed_ = nullptr;  // [panel_count()] panels, in
  std::shared_ptr<const Buffer> memory_;
};

}  // namespace aster::compute
