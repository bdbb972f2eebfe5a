// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/attention.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace aster::kernels {

VisibleRows VisibleTo(int64_t position, int64_t window, int64_t sinks) {
  CHECK(position >= 0 && window >= 0 && sinks >= 0);
  const int64_t end = position + 1;
  if (window == 0 || window >= end) return {.sink_end = 0, .begin = 0, .end = end};
  return {.sink_end = std::min(sinks, end - window), .begin = end - window, .end = end};
}

float QueryFactor(float scale) {
  constexpr double kLog2E = 0x1.71547652b82fep0;
  return static_cast<float>(static_cast<double>(scale) * kLog2E);
}

size_t QueryFloats(const PageLayout& layout, size_t rows) {
  const auto dim = static_cast<size_t>(layout.key_dim);
  const size_t words = (dim + kIntQuad - 1) / kIntQuad + 2 * ((dim + kQ8Group - 1) / kQ8Group);
  return (rows + kQueryGroup - 1) / kQueryGroup * kQueryGroup *
         (layout.type == KvType::kQ8Int ? words : dim);
}

void ResetAttention(const PageLayout& layout, size_t rows, const AttentionState& state) {
  std::fill_n(state.max, rows, -std::numeric_limits<float>::infinity());
  std::fill_n(state.sum, rows, 0.0f);
  std::fill_n(state.values, rows * static_cast<size_t>(layout.value_stride), 0.0f);
}

const AttentionTable& Attention(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return kAttentionAvx2;
    case Isa::kAvxVnni:
      return kAttentionAvxVnni;
    case Isa::kAvx512:
    case Isa::kAmx:
      return kAttentionAvx512;
#elif defined(__aarch64__)
    case Isa::kNeon:
    case Isa::kI8mm:
      return kAttentionNeon;
#endif
    default:
      CHECK_NOTE(isa == Isa::kRef, "this program has no kernels for that instruction set");
      return kAttentionRef;
  }
}

}  // namespace aster::kernels
