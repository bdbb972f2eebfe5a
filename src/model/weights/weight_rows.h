// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Matrices that are some of a tensor's rows or columns, in another order than they have there. Must
// not know architectures.
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

// Of a tensor whose rows are those of heads, one head of `step` rows behind the other: of all heads
// the rows of the first range, then of all those of the next. `some`: of these rows only some,
// where it is not empty.
Result<compute::Matrix> RowsOfHeads(const gguf::Tensor& tensor,
                                    std::initializer_list<RowsOfHead> ranges, uint64_t step,
                                    compute::Backend& backend, RowsOfHead some = {0, 0});

// The left (0) or the right (1) half of every row.
Result<compute::Matrix> HalfOfColumns(const gguf::Tensor& tensor, size_t half,
                                      compute::Backend& backend);

// With these values in place of the tensor's own.
Result<compute::Matrix> PackFloats(const gguf::Tensor& tensor, std::span<const float> values,
                                   compute::Backend& backend);

// The same, less the mean of the matrix's rows: whatever it is multiplied with, the numbers that it
// gives have a mean of zero.
Result<compute::Matrix> PackCentred(const gguf::Tensor& tensor, std::vector<float> values,
                                    compute::Backend& backend);

// Its columns as rows, in halves.
Result<compute::Matrix> PackTurned(const gguf::Tensor& tensor, compute::Backend& backend);

// Whole numbers, each that of one of `count` experts.
Result<std::vector<int32_t>> ReadExpertTable(const gguf::Tensor& tensor, uint32_t count);

// Rows of `columns` numbers, column by column.
std::vector<float> Transposed(std::span<const float> rows, size_t columns);

}  // namespace aster::model
