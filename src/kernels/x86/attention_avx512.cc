// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/ops.h"
#include "kernels/x86/ops_vec_avx512.inc"

namespace {

const aster::kernels::OpsTable& kRowOps = aster::kernels::kOpsAvx512;

OPS_INLINE Ints DotBytes(Ints sum, Ints unsigned_bytes, Ints signed_bytes) {
  return _mm512_dpbusd_epi32(sum, unsigned_bytes, signed_bytes);
}

}  // namespace

// Uses these lanes.
#include "kernels/x86/attention_dots_vnni.inc"

// Uses these products.
#include "kernels/attention_body.inc"

namespace aster::kernels {

const AttentionTable kAttentionAvx512 = kTable;

}  // namespace aster::kernels
