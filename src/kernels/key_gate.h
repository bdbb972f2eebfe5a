// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// By how much a row of a memory counts for a row of a residual: how well its key fits. One form for
// every instruction set: there is little to compute. docs/deepseek-v4.md has the formula.
#pragma once

#include <cstddef>

#include "kernels/ops.h"

namespace aster::kernels {

// sigmoid(the signed root of d), d being the product of both rows, each normed, by weights, over
// the root of the width. Sums run in sixteen lanes, as those of ops.h do.
float KeyGate(const OpsTable& ops, const float* row, const float* key, const float* weights,
              size_t width, float epsilon);

}  // namespace aster::kernels
