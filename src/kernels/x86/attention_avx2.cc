// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/ops.h"
#include "kernels/x86/ops_vec_avx2.inc"

namespace {

const aster::kernels::OpsTable& kRowOps = aster::kernels::kOpsAvx2;

}  // namespace

// Uses these lanes.
#include "kernels/x86/attention_dots_avx2.inc"

// Uses these products.
#include "kernels/attention_body.inc"

namespace aster::kernels {

const AttentionTable kAttentionAvx2 = kTable;

}  // namespace aster::kernels
