// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/ops.h"
#include "kernels/x86/ops_vec_avx2.inc"

namespace {

const aster::kernels::OpsTable& kRowOps = aster::kernels::kOpsAvx2;

OPS_INLINE Ints DotBytes(Ints sum, Ints unsigned_bytes, Ints signed_bytes) {
  return {_mm256_dpbusd_avx_epi32(sum.a, unsigned_bytes.a, signed_bytes.a),
          _mm256_dpbusd_avx_epi32(sum.b, unsigned_bytes.b, signed_bytes.b)};
}

}  // namespace

// Uses these lanes.
#include "kernels/x86/attention_dots_vnni.inc"

// Uses these products.
#include "kernels/attention_body.inc"

namespace aster::kernels {

const AttentionTable kAttentionAvxVnni = kTable;

}  // namespace aster::kernels
