// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/x86/attention_vnni_for_test.h"

#include "kernels/ops.h"
#include "kernels/x86/ops_vec_avx2.inc"

namespace {

const aster::kernels::OpsTable& kRowOps = aster::kernels::kOpsAvx2;

// Even and odd bytes separately, in 16 bits.
OPS_INLINE __m256i DotBytes8(__m256i sum, __m256i unsigned_bytes, __m256i signed_bytes) {
  const __m256i low = _mm256_set1_epi16(255);
  const __m256i even = _mm256_madd_epi16(_mm256_and_si256(unsigned_bytes, low),
                                         _mm256_srai_epi16(_mm256_slli_epi16(signed_bytes, 8), 8));
  const __m256i odd =
      _mm256_madd_epi16(_mm256_srli_epi16(unsigned_bytes, 8), _mm256_srai_epi16(signed_bytes, 8));
  return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
}
OPS_INLINE Ints DotBytes(Ints sum, Ints unsigned_bytes, Ints signed_bytes) {
  return {DotBytes8(sum.a, unsigned_bytes.a, signed_bytes.a),
          DotBytes8(sum.b, unsigned_bytes.b, signed_bytes.b)};
}

}  // namespace

// Uses these lanes.
#include "kernels/x86/attention_dots_vnni.inc"

// Uses these products.
#include "kernels/attention_body.inc"

namespace aster::kernels {

const AttentionTable kAttentionEmulatedVnni = kTable;

}  // namespace aster::kernels
