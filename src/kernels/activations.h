// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows of activations, prepared for products with a weight type. One format serves every
// instruction set, bit for bit. Must not know weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/isa.h"
#include "kernels/weight_type.h"

namespace aster::kernels {

ActivationFormat ActivationFormatFor(WeightType type);

// The bytes of `rows` prepared rows of `columns` values.
size_t ActivationBytes(ActivationFormat format, size_t rows, size_t columns);

// Floats to prepare.
struct ActivationSource {
  const float* data;
  size_t row_stride;  // floats from row to row
  size_t rows;
  size_t columns;  // for kInt8Per256 a multiple of 256
};

// Prepares rows `row_begin` to `row_end` of the source. `out` holds ActivationBytes() of all its
// rows and is aligned to kActivationAlignment. Calls for different rows may run at the same time.
void PrepareActivations(Isa isa, ActivationFormat format, const ActivationSource& source,
                        size_t row_begin, size_t row_end, void* out);

// Copies prepared rows of another batch, in any order and number: row i of `out` is row indices[i].
// For rows that are routed to an expert.
struct GatherSource {
  const void* data;  // prepared
  size_t rows;       // rows that were prepared together
  size_t columns;
};
void GatherActivations(ActivationFormat format, const GatherSource& source,
                       std::span<const uint32_t> indices, void* out);

}  // namespace aster::kernels
