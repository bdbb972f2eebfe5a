// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/x86/ops_vec_avx2.inc"

// Uses these lanes.
#include "kernels/ops_body.inc"

namespace aster::kernels {

const OpsTable kOpsAvx2 = kTable;

}  // namespace aster::kernels
