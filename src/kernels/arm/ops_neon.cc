// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/arm/ops_vec_neon.inc"

// Uses these lanes.
#include "kernels/ops_body.inc"

namespace aster::kernels {

const OpsTable kOpsNeon = kTable;

}  // namespace aster::kernels
