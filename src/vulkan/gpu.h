// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A GPU of this machine that computes, as a back end, with everything that takes. The same in
// a program that was built without GPU support, which says so. Must not know Vulkan's names.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "compute/backend.h"
#include "vulkan/choice.h"
#include "vulkan/kernel_use.h"

namespace aster::vulkan {

// Belongs to the thread that opened it. What its back end makes goes before it.
class Gpu {
 public:
  virtual ~Gpu() = default;

  virtual compute::Backend& backend() = 0;
  virtual const std::string& name() const = 0;  // as its driver gives it
  // Memory that can still be allocated on it.
  virtual uint64_t available_bytes() const = 0;
  // Whether that is the main memory of this machine, and not one of its own.
  virtual bool shares_memory() const = 0;
  // Whether it can compute no more: what it held is gone.
  virtual bool lost() const = 0;
};

// The device that is to be used, after those of its kernels that are asked for have passed the
// self-check; others are refused. An error says why there is none: NotFound where there is no
// device or none is wanted, FailedPrecondition where the one that was chosen is not fit,
// Unavailable where it was listed and is lost. The context outlives it.
Result<std::unique_ptr<Gpu>> OpenGpu(const GpuChoice& choice, const KernelUse& use,
                                     compute::Context& host);

}  // namespace aster::vulkan
