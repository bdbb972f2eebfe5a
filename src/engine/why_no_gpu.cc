// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/why_no_gpu.h"

namespace aster::engine {

std::string WhyNoGpu(const model::Shape& shape, const model::Slice& slice,
                     const model::MemoryOptions& memory) {
  // The parts of a group exchange rows within a layer, which the processor has at hand.
  if (!slice.part.is_whole()) return "the processor computes a group's part of the layers";
  if (memory.type == kernels::KvType::kQ8Int)
    return "the processor attends in integers (--kv-type q8i), GPUs do not";
  if (shape.shares_far_rows())
    return "GPUs do not compute layers that share compressed rows (DeepSeek V4.1)";
  return {};
}

}  // namespace aster::engine
