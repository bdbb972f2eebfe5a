// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/gpu.h"

#include "vulkan/absent/no_support.h"

namespace aster::vulkan {

Result<std::unique_ptr<Gpu>> OpenGpu(const GpuChoice&, const KernelUse&, compute::Context&) {
  return NoSupport();
}

}  // namespace aster::vulkan
