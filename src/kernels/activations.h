// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows of activations, written the way a product with some weight type reads them. One format
// serves every instruction set, bit for bit. Must not know weights.
#pragma once

#include <cstddef>

#include "kernels/isa.h"
#include "kernels/weight_type.h"

namespace aster::kernels {

ActivationFormat ActivationFormatFor(WeightType type);

// The distance from row to row that suits the caches, in bytes: enough for a row of `columns`
// values, a multiple of kActivationAlignment.
size_t ActivationStride(ActivationFormat format, size_t columns);

// Prepares `rows` rows of `columns` floats, `row_stride` floats apart, into `out`, `out_stride`
// bytes apart; `out` and `out_stride` are multiples of kActivationAlignment. kInt8Per256 takes
// whole blocks of 256 columns. Each row stands for itself, so callers divide the rows as they like.
void PrepareActivations(Isa isa, ActivationFormat format, const float* in, size_t row_stride,
                        size_t rows, size_t columns, void* out, size_t out_stride);

}  // namespace aster::kernels
