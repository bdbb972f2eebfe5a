// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The shaders of products, which are the same for one matrix and for those of experts: their push
// constants, and the choice of the shader. Must not know what matrices are for.
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

// Rows that a workgroup takes at once: powers of two up to kFewRows with the shader for few rows;
// unless the weights are floats, kManyRows with the one for many rows, and kMatrixRows or
// kWideMatrixRows with that for cooperative matrices.
inline constexpr uint32_t kFewRows = 8;
inline constexpr uint32_t kManyRows = 32;
inline constexpr uint32_t kMatrixRows = 64;
inline constexpr uint32_t kWideMatrixRows = 128;
// With fewer rows, too much of a matrix tile is unused.
inline constexpr uint32_t kLeastMatrixRows = 9;

enum class ProductWay : uint8_t { kFew, kMany, kMatrix };
struct WorkgroupRows {
  ProductWay way;
  uint32_t rows;
};
// Whether cooperative matrices support the type. Not Q5_1, whose minima belong to 32 columns each.
bool HasMatrixProducts(kernels::WeightType type);
// Chooses the shader for this many rows of one matrix.
WorkgroupRows RowsOfWorkgroup(const Kernels& kernels, kernels::WeightType type, uint32_t outputs,
                              uint32_t rows);

// Records products of the rows of `row_groups` workgroups.
Status RecordProductPush(Kernels& kernels, Commands& commands, kernels::WeightType type,
                         const ProductPush& push, WorkgroupRows together, uint32_t row_groups);

}  // namespace aster::vulkan
