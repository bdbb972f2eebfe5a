// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The reference's functions that prepare a row of activations. Other instruction sets use them if
// their speed does not matter. Internal to kernels/.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matmul_table.h"

namespace aster::kernels {

// A group whose largest magnitude has at least these bits is not finite, and becomes NaN.
inline constexpr uint32_t kInfinityBits = 0x7f800000u;
// 2^-110. A group whose largest magnitude is below it becomes zero. For a larger one, scale and
// inverse are normal numbers.
inline constexpr uint32_t kSmallestScaledBits = (127u - 110u) << 23;

void PrepareF32Ref(const float* row, size_t columns, const PreparedRow& out);
void PrepareBF16Ref(const float* row, size_t columns, const PreparedRow& out);
void PrepareInt8Per32Ref(const float* row, size_t columns, const PreparedRow& out);
void PrepareInt8Per256Ref(const float* row, size_t columns, const PreparedRow& out);

}  // namespace aster::kernels
