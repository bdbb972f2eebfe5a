// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/ops.h"
#include "kernels/x86/ops_vec_avx512.inc"

namespace {

const aster::kernels::OpsTable& kRowOps = aster::kernels::kOpsAvx512;

}  // namespace

// Written in those lanes.
#include "kernels/attention_body.inc"

namespace aster::kernels {

const AttentionTable kAttentionAvx512 = kTable;

}  // namespace aster::kernels
