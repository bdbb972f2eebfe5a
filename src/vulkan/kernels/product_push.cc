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

// What product_few.comp has in a step: as much as its shared memory has room for with so many rows,
// and as the device has invocations.
uint32_t StepSlots(uint32_t rows, const DeviceTraits& traits) {
  const uint32_t most = std::bit_floor(traits.workgroup_invocations) / kFewOutputs;
  return std::min({32u, 64u / rows, most});
}

}  // namespace

Status RecordProductPush(Kernels& kernels, Commands& commands, WeightType type,
                         const ProductPush& push, uint32_t together, uint32_t row_groups) {
  CHECK(row_groups <= kRowGroups);
  const char* const name = NameOfType(type);
  if (!kernels.multiplies(type))
    return FailedPrecondition(fmt::format("products with {} were not checked on this GPU", name));
  const auto groups = [&](uint32_t outputs) {
    return GroupCount{.x = DivideRoundingUp(push.outputs, outputs), .y = row_groups};
  };
  if (type <= WeightType::kBF16) {
    CHECK(together <= kFewRows);
    return kernels.Record(commands, fmt::format("product_{}", name), {together}, push,
                          groups(kFloatOutputs));
  }
  const char* const dot = kernels.arithmetic().dot_products ? "_dot" : "";
  if (together == kManyRows) {
    return kernels.Record(commands, fmt::format("product_many_{}{}", name, dot), {}, push,
                          groups(kManyOutputs));
  }
  CHECK(together <= kFewRows);
  const uint32_t slots = StepSlots(together, kernels.device().traits());
  return kernels.Record(commands, fmt::format("product_few_{}{}", name, dot),
                        {together, slots * kFewOutputs, slots}, push, groups(kFewOutputs));
}

}  // namespace aster::vulkan
