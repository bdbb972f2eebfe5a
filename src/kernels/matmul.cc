// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/matmul.h"

#include <algorithm>

#include "base/check.h"
#include "base/cpu.h"
#include "base/sanitized.h"
#include "kernels/activations.h"
#include "kernels/matmul_choice.h"
#include "kernels/pack.h"

namespace aster::kernels {

const size_t kStreamAhead = [] {
  constexpr size_t kBytes = 4096;
#if defined(__x86_64__)
  // Measured. Zen 4: one stream is read at 0.9 of the machine's limit without prefetching, and at
  // 0.7 if lines are prefetched a block at a time. Zen 3, which has no AVX-512: at 0.7 without, at
  // 0.9 if they are prefetched this far ahead.
  __builtin_cpu_init();
  if (__builtin_cpu_is("amdfam19h")) return size_t{__builtin_cpu_supports("avx512f") ? 0u : 2048u};
  // Intel's servers since Sapphire Rapids: at 0.80 without, 0.84 at 4096, 0.93 this far ahead.
  if (DetectCpuFeatures().amx_tile) return size_t{2048};
#endif
  return kBytes;
}();

const MatmulTable& MatmulTableFor(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return kMatmulAvx2;
    case Isa::kAvxVnni:
      return kMatmulAvxVnni;
    case Isa::kAvx512:
      return kMatmulAvx512;
    case Isa::kAmx:
      return kMatmulAmx;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return kMatmulNeon;
    case Isa::kI8mm:
      return kMatmulI8mm;
#endif
    default:
      CHECK_NOTE(isa == Isa::kRef, "this program has no kernels for that instruction set");
      return kMatmulRef;
  }
}

namespace {

// Everything that a kernel may read or write.
void CheckAccesses(WeightType type, const MatmulJob& job, size_t panel_begin, size_t panel_end) {
  if constexpr (!kSanitized) return;
  const size_t panel_bytes = PanelBytes(type, job.columns);
  CheckAccess(static_cast<const uint8_t*>(job.weights) + panel_begin * panel_bytes,
              (panel_end - panel_begin) * panel_bytes);
  CheckAccess(job.activations,
              ActivationBytes(ActivationFormatFor(type), job.activation_rows, job.columns));
  if (job.to_rows != nullptr) CheckAccess(job.to_rows, job.batch * sizeof(job.to_rows[0]));
  const size_t begin = panel_begin * kPanelRows;
  const size_t end = std::min(panel_end * kPanelRows, job.rows);
  for (size_t i = 0; i < job.batch; ++i) {
    const size_t row = job.to_rows == nullptr ? i : job.to_rows[i];
    CheckAccess(job.out + row * job.out_stride + begin, (end - begin) * sizeof(float));
  }
}

}  // namespace

void Matmul(Isa isa, WeightType type, const MatmulJob& job, size_t panel_begin, size_t panel_end) {
  CHECK(panel_begin <= panel_end && panel_end <= PanelCount(job.rows));
  CHECK(job.first_row + job.batch <= job.activation_rows);
  CHECK(job.columns % ColumnMultiple(type) == 0);
  CHECK(reinterpret_cast<uintptr_t>(job.weights) % kPackedAlignment == 0);
  if (panel_begin == panel_end || job.batch == 0) return;
  CheckAccesses(type, job, panel_begin, panel_end);
  MatmulTableFor(isa).products[static_cast<size_t>(type)](job, panel_begin, panel_end);
}

}  // namespace aster::kernels
