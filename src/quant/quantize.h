// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// From rows of floats to rows of a block type, with as little squared error as a bounded search
// finds. The result is the same, bit for bit, on every machine. Must not know tensors or files.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "gguf/types.h"

namespace aster::quant {

bool CanQuantize(gguf::TensorType type);

// Fills `out`, which has exactly the bytes of row.size() elements of `type`. `importance`
// [row.size()], where it is not null, says how much the squared error of each weight counts; what
// is negative or no number counts nothing, and in a block where nothing counts it is as if none had
// been given. Beyond that, large weights always count somewhat more than small ones. An error where
// the type cannot be written, where the row is not a whole number of blocks, or where the type
// cannot hold a weight: an infinity, a NaN, or (F16) one too large.
Status Quantize(gguf::TensorType type, std::span<const float> row, std::span<uint8_t> out,
                const float* importance = nullptr);

}  // namespace aster::quant
