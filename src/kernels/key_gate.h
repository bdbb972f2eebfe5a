// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How strongly a row of a memory is added to a row of a residual: by how well its key fits. One
// form for every instruction set, as there is little to compute. docs/deepseek-v4.md has the
// formula.
#pragma once

#include <cstddef>

#include "kernels/ops.h"

namespace aster::kernels {

// sigmoid(signed root of d), where d is the product of both rows, each normed, by weights, over the
// root of the width. Sums run in sixteen lanes, as in ops.h.
float KeyGate(const OpsTable& ops, const float* row, const float* key, const float* weights,
              size_t width, float epsilon);

}  // namespace aster::kernels
