// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The shaders of products, which are the same for one matrix and for those of experts: what they
// are told, and which one suits. Must not know what matrices are for.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/weight_type.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

// product_rows.glsl has the same numbers.
enum class ProductRows : uint32_t { kOneMatrix, kEachSlot, kSlotGroups };

struct ProductPush {
  Address weights;
  Address ids;
  Address slots;
  Address activations;
  Address result;
  Address grid;
  Address sum;
  uint32_t outputs;
  uint32_t columns;
  uint32_t activation_rows;
  uint32_t first_row;
  uint32_t rows;
  uint32_t out_stride;
  uint32_t sharing;
  ProductRows kind;
  uint32_t sum_stride;
  uint32_t panels = 1;  // by RecordProductPush
};

// Rows that a workgroup takes at once: powers of two up to kFewRows by the shaders for few rows,
// and, unless the weights are floats, kManyRows by the one for many and kMatrixRows or
// kWideMatrixRows by that of matrices.
inline constexpr uint32_t kFewRows = 8;
inline constexpr uint32_t kManyRows = 32;
inline constexpr uint32_t kMatrixRows = 64;
inline constexpr uint32_t kWideMatrixRows = 128;
// With fewer rows, too much of a tile of matrices is computed for nothing.
inline constexpr uint32_t kLeastMatrixRows = 9;

enum class ProductWay : uint8_t { kFew, kMany, kMatrix };
struct WorkgroupRows {
  ProductWay way;
  uint32_t rows;
};
// Whether the device's matrices multiply it. Not Q5_1, whose minima belong to 32 columns each.
bool HasMatrixProducts(kernels::WeightType type);
// How this many rows of one matrix are multiplied.
WorkgroupRows RowsOfWorkgroup(const Kernels& kernels, kernels::WeightType type, uint32_t outputs,
                              uint32_t rows);

// `row_groups` workgroups' rows.
Status RecordProductPush(Kernels& kernels, Commands& commands, kernels::WeightType type,
                         const ProductPush& push, WorkgroupRows together, uint32_t row_groups);

}  // namespace aster::vulkan
