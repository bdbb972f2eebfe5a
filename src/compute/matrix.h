// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A matrix of weights in the kernels' format: packed once, in memory of its own or shared with
// other matrices of its tensor. Packed bytes are the same for every back end. Must not know layers
// or what the matrix is for.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "gguf/file.h"
#include "kernels/weight_type.h"

namespace aster::compute {

// Constant after packing, so any number of threads may use it.
class Matrix {
 public:
  Matrix() = default;  // no rows

  // The matrix of a tensor [columns, rows], or matrix `index` of a tensor [columns, rows,
  // matrices]. Packs on all threads. An error if there are no kernels for the type, or memory is
  // short.
  static Result<Matrix> Pack(const gguf::Tensor& tensor, size_t index, Backend& backend);

  // Every matrix of a tensor [columns, rows, matrices]. They share one block of memory, so that
  // matrices smaller than a large page use large pages, too.
  static Result<std::vector<Matrix>> PackAll(const gguf::Tensor& tensor, Backend& backend) {
    return PackRows(tensor, 0, tensor.dims[1], backend);
  }
  // Only matrices [first, first + count) of the tensor.
  static Result<std::vector<Matrix>> PackMatrices(const gguf::Tensor& tensor, size_t first,
                                                  size_t count, Backend& backend) {
    return PackSome(tensor, {first, count, 0, tensor.dims[1]}, backend);
  }
  // Only rows [first, first + count) of every matrix.
  static Result<std::vector<Matrix>> PackRows(const gguf::Tensor& tensor, size_t first,
                                              size_t count, Backend& backend);

  kernels::WeightType type() const { return type_; }
  size_t rows() const { return rows_; }
  size_t columns() const { return columns_; }
  size_t panel_count() const;
  size_t bytes() const { return bytes_; }
  // [panel_count()] panels from `offset` on, a multiple of kernels::kPackedAlignment.
  const Memory& memory() const { return *memory_; }
  size_t offset() const { return offset_; }

 private:
  // Some of a tensor's matrices, and some rows of each.
  struct Choice {
    size_t first;
    size_t count;
    size_t first_row;
    size_t row_count;
  };
  static Result<std::vector<Matrix>> PackSome(const gguf::Tensor& tensor, const Choice& choice,
                                              Backend& backend);

  kernels::WeightType type_ = kernels::WeightType::kF32;
  size_t rows_ = 0;
  size_t columns_ = 0;
  size_t bytes_ = 0;
  size_t offset_ = 0;
  std::shared_ptr<const Memory> memory_;
};

// The matrices of an expert, or of a dense feed-forward network.
struct ExpertWeights {
  Matrix gate;  // [feed_forward, embedding]
  Matrix up;    // [feed_forward, embedding]
  Matrix down;  // [embedding, feed_forward]
};

}  // namespace aster::compute
