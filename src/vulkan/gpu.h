// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A GPU of this machine as a back end, with everything that it needs. A program without GPU support
// has the same functions, which return an error. Must not know Vulkan's names.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "compute/backend.h"
#include "vulkan/choice.h"
#include "vulkan/kernel_use.h"

namespace aster::vulkan {

// Belongs to the thread that opened it. Outlives everything that its back end makes.
class Gpu {
 public:
  virtual ~Gpu() = default;

  virtual compute::Backend& backend() = 0;
  virtual const std::string& name() const = 0;  // as its driver gives it
  // Memory that can still be allocated on it.
  virtual uint64_t available_bytes() const = 0;
  // Whether it has no memory of its own and uses this machine's main memory.
  virtual bool shares_memory() const = 0;
  // Whether it failed: its memory is lost, and it computes no more.
  virtual bool lost() const = 0;
};

// Opens the chosen device and runs the self-check of the kernels in `use`; others are refused from
// then on. NotFound if there is no device or none is wanted, FailedPrecondition if the chosen one
// cannot be used, Unavailable if it was listed and is lost. The context outlives it.
Result<std::unique_ptr<Gpu>> OpenGpu(const GpuChoice& choice, const KernelUse& use,
                                     compute::Context& host);

}  // namespace aster::vulkan
