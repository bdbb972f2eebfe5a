// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether a device computes the reference's bits, asked of the real kernels every time a program
// starts to use it: drivers change, and a wrong bit would go unnoticed. One differing bit and the
// device is not used. Must not know models.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "vulkan/check/workbench.h"
#include "vulkan/driver/pipelines.h"
#include "vulkan/kernel_use.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

// The ways to compute that may suit the device, the fastest first: with its own fma or one made of
// integers; with denormals flushed by an execution mode, by the device unasked, or in the shader.
std::vector<Arithmetic> CandidateArithmetics(const DeviceTraits& traits);

// The first candidate whose float operations have the reference's bits. FailedPrecondition where
// there is none; the error names the operation that the last one got wrong, and the driver.
Result<Arithmetic> ChooseArithmetic(Device& device, const ShaderSource& source);

// What is checked of the kernels, in this order: those that are asked for, and what all models
// need.
struct KernelCheck {
  std::string name;
  std::function<Status(Workbench&)> run;
};
std::vector<KernelCheck> KernelChecks(const KernelUse& use);

// What is checked of products by cooperative matrices, with kernels that use them.
std::vector<KernelCheck> MatrixChecks(const KernelUse& use);

// Those kernels against the reference. The error names the kernel, and the driver.
Status CheckKernels(Kernels& kernels, const KernelUse& use);

// Which elements of a tile of matrices are alike, asked of the device.
Result<MatrixElements> FindMatrixElements(Workbench& bench, const MatrixTile& tile);

// Has the kernels use the device's matrices where these have the reference's bits, and otherwise
// note why not: the device can do without. An error where it was lost.
Status TryMatrices(Kernels& kernels, const KernelUse& use);

// Kernels that have passed all of it; what is not asked for is refused from then on.
Result<std::unique_ptr<Kernels>> OpenCheckedKernels(Device& device, const ShaderSource& source,
                                                    const KernelUse& use);

}  // namespace aster::vulkan
