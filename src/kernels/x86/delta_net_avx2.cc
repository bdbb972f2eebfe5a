// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/x86/ops_vec_avx2.inc"

// Uses these lanes.
#include "kernels/delta_net_body.inc"

namespace aster::kernels {

const DeltaTable kDeltaAvx2 = kTable;

}  // namespace aster::kernels
