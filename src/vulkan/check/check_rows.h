// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Compares operations on elements and rows of a device with the reference. Must not know which
// sizes are worth checking.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/ops.h"
#include "vulkan/check/workbench.h"
#include "vulkan/kernels/elements.h"
#include "vulkan/kernels/rows.h"

namespace aster::vulkan {

Status CheckElements(Workbench& bench, ElementOperation operation, uint32_t count,
                     CheckValues values, uint64_t seed);
Status CheckConversion(Workbench& bench, Conversion conversion, uint32_t count, uint64_t seed);
Status CheckFixedSums(Workbench& bench, uint32_t terms, uint32_t count, CheckValues values,
                      uint64_t seed);
// Terms by their places; or in their order, with one more.
Status CheckWeightedSum(Workbench& bench, uint32_t rows, uint32_t terms, uint32_t width,
                        bool has_places, uint64_t seed);
// Some terms are on other machines; some rows have one more term, with or without a score.
Status CheckOwnSums(Workbench& bench, uint32_t rows, uint32_t terms, uint32_t width,
                    bool has_scores, uint64_t seed);

Status CheckAddByExpert(Workbench& bench, uint32_t rows, uint32_t experts, uint32_t width,
                        CheckValues values, uint64_t seed);

// Experts chosen by scores, some of them equal or NaN, with a bias; from half of the groups if
// there are several; or by a table.
struct CheckedChoice {
  uint32_t experts;
  uint32_t used;
  uint32_t groups = 1;
  bool is_given = false;
};
Status CheckChooseExperts(Workbench& bench, uint32_t rows, const CheckedChoice& choice,
                          CheckValues values, uint64_t seed);

Status CheckRmsNorm(Workbench& bench, uint32_t rows, uint32_t count, bool weighted,
                    CheckValues values, uint64_t seed);
Status CheckSoftmax(Workbench& bench, uint32_t rows, uint32_t count, CheckValues values,
                    uint64_t seed);
Status CheckArgmax(Workbench& bench, uint32_t rows, uint32_t count, CheckValues values,
                   uint64_t seed);
Status CheckRope(Workbench& bench, kernels::RopeLayout layout, bool inverse, uint32_t tokens,
                 uint32_t heads, uint32_t pairs, uint64_t seed);
Status CheckHadamard(Workbench& bench, uint32_t rows, uint32_t count, uint64_t seed);
Status CheckGatherRows(Workbench& bench, TableType type, uint32_t rows, uint32_t width,
                       uint64_t seed);

}  // namespace aster::vulkan
