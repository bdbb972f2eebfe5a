// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Compares prepared activations and products of a device with the reference. Must not know which
// sizes are worth checking.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/weight_type.h"
#include "vulkan/check/workbench.h"
#include "vulkan/kernels/elements.h"

namespace aster::vulkan {

Status CheckPrepare(Workbench& bench, kernels::ActivationFormat format, uint32_t rows,
                    uint32_t columns, CheckValues values, uint64_t seed);

Status CheckPrepareNormed(Workbench& bench, kernels::ActivationFormat format, uint32_t rows,
                          uint32_t columns, bool weighted, CheckValues values, uint64_t seed);
Status CheckPrepareGated(Workbench& bench, kernels::ActivationFormat format,
                         ElementOperation operation, uint32_t rows, uint32_t columns,
                         CheckValues values, uint64_t seed);

// `to_rows` rows out of `rows`.
Status CheckGatherPrepared(Workbench& bench, kernels::ActivationFormat format, uint32_t rows,
                           uint32_t to_rows, uint32_t columns, uint64_t seed);

struct ProductSize {
  uint32_t outputs;
  uint32_t columns;
  uint32_t activation_rows;
  uint32_t first_row;
  uint32_t rows;
};
Status CheckProduct(Workbench& bench, kernels::WeightType type, const ProductSize& size,
                    CheckValues values, uint64_t seed);

// Two of three matrices for each of `size.rows` rows, `together` of them at a time.
Status CheckExpertProduct(Workbench& bench, kernels::WeightType type, const ProductSize& size,
                          uint32_t together, uint64_t seed,
                          CheckValues values = CheckValues::kOrdinary);
// `slots` choices out of `experts`.
Status CheckGroupExperts(Workbench& bench, uint32_t slots, uint32_t experts, uint32_t together,
                         uint64_t seed);

}  // namespace aster::vulkan
