// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/x86/ops_vec_avx512.inc"

// Uses these lanes.
#include "kernels/ops_body.inc"

namespace aster::kernels {

const OpsTable kOpsAvx512 = kTable;

}  // namespace aster::kernels
