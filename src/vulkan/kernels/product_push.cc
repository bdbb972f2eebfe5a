// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/kernels/product_push.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "kernels/packed.h"
#include "vulkan/kernels/type_names.h"

namespace aster::vulkan {
namespace {

using kernels::WeightType;

// The outputs of a workgroup.
constexpr auto kFewOutputs = static_cast<uint32_t>(kernels::kPanelRows);
constexpr uint32_t kManyOutputs = 64;
constexpr uint32_t kFloatOutputs = 64;
constexpr uint32_t kMatrixOutputs = 128;

// Rows of invocations that add in product_few.comp: whole subgroups of most devices.
uint32_t AdderSlots(uint32_t rows) { return std::max(rows, 2u); }

// This many workgroups of product_few.comp keep a device busy, so with more panels each workgroup
// computes several. From kManyGroups on workgroups are smaller, so that all are resident at once.
constexpr uint32_t kWantedGroups = 896;
constexpr uint32_t kManyGroups = 512;

// With fewer workgroups of kWideMatrixRows than this (a large device has about as many processors),
// smaller ones are used.
constexpr uint32_t kWideGroups = 100;

// The slots of a step of product_few.comp: as many as fit into shared memory with this many rows,
// and into the device's invocations.
uint32_t StepSlots(uint32_t rows, uint32_t groups, const DeviceTraits& traits) {
  const uint32_t most = traits.workgroup_invocations / kFewOutputs - AdderSlots(rows);
  const uint32_t wanted = groups < kManyGroups ? 32 : 16;
  return std::bit_floor(std::min({wanted, 64 / rows, most}));
}

}  // namespace

bool HasMatrixProducts(WeightType type) {
  return type > WeightType::kBF16 && type != WeightType::kQ5_1;
}

WorkgroupRows RowsOfWorkgroup(const Kernels& kernels, WeightType type, uint32_t outputs,
                              uint32_t rows) {
  const bool is_float = type <= WeightType::kBF16;
  if (rows <= kFewRows || is_float)  // powers of two, so that few pipelines are needed
    return {ProductWay::kFew, std::bit_ceil(std::clamp(rows, 1u, kFewRows))};
  if (rows < kLeastMatrixRows || !kernels.matrix() || !HasMatrixProducts(type))
    return {ProductWay::kMany, kManyRows};
  const uint32_t wide_groups =
      DivideRoundingUp(outputs, kMatrixOutputs) * DivideRoundingUp(rows, kWideMatrixRows);
  return {ProductWay::kMatrix, wide_groups < kWideGroups ? kMatrixRows : kWideMatrixRows};
}

Status RecordProductPush(Kernels& kernels, Commands& commands, WeightType type,
                         const ProductPush& push, WorkgroupRows together, uint32_t row_groups) {
  CHECK(row_groups <= kRowGroups);
  const char* const name = NameOfType(type);
  if (!kernels.use().weights.Contains(type))
    TRY(CheckIsInUse(false, fmt::format("products with {}", name)));
  const auto groups = [&](uint32_t outputs) {
    return GroupCount{.x = DivideRoundingUp(push.outputs, outputs), .y = row_groups};
  };
  if (type <= WeightType::kBF16) {
    CHECK(together.way == ProductWay::kFew);
    return kernels.Record(commands, fmt::format("product_{}", name), {together.rows}, push,
                          groups(kFloatOutputs));
  }
  const char* const dot = kernels.arithmetic().dot_products ? "_dot" : "";
  if (together.way == ProductWay::kMatrix) {
    CHECK(together.rows == kMatrixRows || together.rows == kWideMatrixRows);
    const uint32_t output_groups = DivideRoundingUp(push.outputs, kMatrixOutputs);
    CHECK(output_groups <= kRowGroups);
    const MatrixTile& tile = *kernels.matrix();
    const MatrixElements& elements = kernels.matrix_elements();
    return kernels.Record(
        commands, fmt::format("product_matrix_{}_{}", name, together.rows),
        {tile.outputs, tile.rows, tile.columns, elements.same_output, elements.same_row}, push,
        {.x = row_groups, .y = output_groups}, tile.subgroup);
  }
  if (together.way == ProductWay::kMany) {
    CHECK(together.rows == kManyRows);
    return kernels.Record(commands, fmt::format("product_many_{}{}", name, dot), {}, push,
                          groups(kManyOutputs));
  }
  CHECK(together.rows <= kFewRows);
  const uint32_t panels = DivideRoundingUp(push.outputs, kFewOutputs);
  const uint32_t slots = StepSlots(together.rows, panels * row_groups, kernels.device().traits());
  ProductPush few = push;
  few.panels = std::max(1u, panels * row_groups / kWantedGroups);
  return kernels.Record(commands, fmt::format("product_few_{}{}", name, dot),
                        {together.rows, (slots + AdderSlots(together.rows)) * kFewOutputs, slots},
                        few, groups(few.panels * kFewOutputs));
}

}  // namespace aster::vulkan
