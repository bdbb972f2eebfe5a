// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/arm/ops_vec_neon.inc"
#include "kernels/ops.h"

namespace {

const aster::kernels::OpsTable& kRowOps = aster::kernels::kOpsNeon;

}  // namespace

// Uses these lanes.
#include "kernels/arm/attention_dots_neon.inc"

// Uses these products.
#include "kernels/attention_body.inc"

namespace aster::kernels {

const AttentionTable kAttentionNeon = kTable;

}  // namespace aster::kernels
