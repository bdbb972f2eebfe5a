// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Checks whether a device computes the reference's bits, with the real kernels, every time a
// program starts to use it, as drivers change and a wrong bit would go unnoticed. If one bit
// differs, the device is not used. Must not know models.
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

// The arithmetics that the device may support, the fastest first: with a native fma or one made of
// integers; with denormals flushed by an execution mode, by default, or in the shader.
std::vector<Arithmetic> CandidateArithmetics(const DeviceTraits& traits);

// The first candidate whose float operations have the reference's bits. FailedPrecondition if there
// is none; the error names the operation that failed with the last one, and the driver.
Result<Arithmetic> ChooseArithmetic(Device& device, const ShaderSource& source);

// A check of some kernels: those in the KernelUse, and those that all models need.
struct KernelCheck {
  std::string name;
  std::function<Status(Workbench&)> run;
};
std::vector<KernelCheck> KernelChecks(const KernelUse& use);

// The checks of products by cooperative matrices.
std::vector<KernelCheck> MatrixChecks(const KernelUse& use);

// Compares these kernels with the reference. The error names the kernel, and the driver.
Status CheckKernels(Kernels& kernels, const KernelUse& use);

// Finds out on the device which elements of a matrix tile have the same output, or row.
Result<MatrixElements> FindMatrixElements(Workbench& bench, const MatrixTile& tile);

// Makes the kernels use the device's cooperative matrices if these give the reference's bits;
// otherwise notes why not, as the device can be used without. An error if the device was lost.
Status TryMatrices(Kernels& kernels, const KernelUse& use);

// Kernels that have passed all checks; from then on they refuse kernels outside of `use`.
Result<std::unique_ptr<Kernels>> OpenCheckedKernels(Device& device, const ShaderSource& source,
                                                    const KernelUse& use);

}  // namespace aster::vulkan
