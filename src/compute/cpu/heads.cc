// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/cpu/heads.h"

#include "compute/cpu/memory.h"

namespace aster::compute {

void CpuFinishHeads(const kernels::OpsTable& ops, const Heads& heads, size_t row, size_t begin,
                    size_t end) {
  const size_t dim = heads.rows.columns / heads.count;
  const size_t count = end - begin;
  float* const first = Floats(heads.rows) + row * heads.rows.stride + begin * dim;
  if (!heads.bias.empty()) ops.add(first, Floats(heads.bias) + begin * dim, count * dim, first);
  if (heads.norm != HeadNorm::kNone) {
    ops.rms_norm(first, dim, count, dim, Floats(heads.norm_weight), heads.epsilon, first, dim);
  }
  const Tensor& cosines = heads.angles.cosines;
  if (cosines.empty()) return;
  const Tensor& sines = heads.angles.sines;
  ops.rope(first + heads.unrotated, dim, count, cosines.columns,
           Floats(cosines) + row * cosines.stride, Floats(sines) + row * sines.stride, heads.layout,
           heads.inverse);
}

}  // namespace aster::compute
