// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// From rows of floats to rows of a block type, with the least squared error that a bounded search
// finds. The result has the same bits on every machine. Must not know tensors or files.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "gguf/types.h"

namespace aster::quant {

bool CanQuantize(gguf::TensorType type);

// Fills `out`, which has exactly the bytes of row.size() elements of `type`. `importance`
// [row.size()], unless null, weights the squared error of each weight; negative numbers and NaN
// count as 0, and a block in which all are 0 is quantised as without importance. In addition, large
// weights always count somewhat more than small ones. An error if the type cannot be written, if
// the row is not a whole number of blocks, or if the type cannot hold a weight: infinity, NaN, or
// (F16) one too large.
Status Quantize(gguf::TensorType type, std::span<const float> row, std::span<uint8_t> out,
                const float* importance = nullptr);

}  // namespace aster::quant
