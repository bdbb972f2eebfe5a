// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Matrices of some of a tensor's rows or columns, in another order. Must not know architectures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/matrix.h"
#include "gguf/file.h"

namespace aster::model {

struct RowsOfHead {
  uint64_t first;
  uint64_t count;
};

// For a tensor with `step` rows for each head, one head after the other: the rows of the first
// range of all heads, then those of the next range. `some`: only some of these rows, if it is not
// empty.
Result<compute::Matrix> RowsOfHeads(const gguf::Tensor& tensor,
                                    std::initializer_list<RowsOfHead> ranges, uint64_t step,
                                    compute::Backend& backend, RowsOfHead some = {0, 0});

// The left (0) or the right (1) half of every row.
Result<compute::Matrix> HalfOfColumns(const gguf::Tensor& tensor, size_t half,
                                      compute::Backend& backend);

// A matrix with these values in place of the tensor's own.
Result<compute::Matrix> PackFloats(const gguf::Tensor& tensor, std::span<const float> values,
                                   compute::Backend& backend);

// The same, after subtracting the mean of the matrix's rows, so that the outputs of every product
// have a mean of zero.
Result<compute::Matrix> PackCentred(const gguf::Tensor& tensor, std::vector<float> values,
                                    compute::Backend& backend);

// The transposed matrix, in f16.
Result<compute::Matrix> PackTransposed(const gguf::Tensor& tensor, compute::Backend& backend);

// Whole numbers, each an index of one of `count` experts.
Result<std::vector<int32_t>> ReadExpertTable(const gguf::Tensor& tensor, uint32_t count);

// Rows of `columns` numbers, transposed.
std::vector<float> Transposed(std::span<const float> rows, size_t columns);

}  // namespace aster::model
