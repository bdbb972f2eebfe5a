// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows that matrices are multiplied with, prepared on the device. Must not know matrices.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "compute/commands.h"
#include "kernels/activations.h"
#include "vulkan/backend/batch.h"
#include "vulkan/backend/fusion.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

// Rows that were prepared together.
struct PreparedRows {
  Range range;
  uint32_t rows;
};

// Keeps its memory from batch to batch. The batch outlives it.
class DeviceOperand final : public compute::Operand {
 public:
  DeviceOperand(Kernels& kernels, Batch& batch, Fusion& fusion)
      : kernels_(kernels), batch_(batch), fusion_(fusion) {}

  void Set(const compute::Tensor& rows) override;

  size_t rows() const { return source_.rows; }
  size_t columns() const { return source_.columns; }

  // Records the preparation, unless the batch has it already.
  Result<PreparedRows> In(kernels::ActivationFormat format);

 private:
  struct Prepared {
    std::optional<Buffer> buffer;
    uint64_t batch = 0;  // which has prepared them
  };

  Kernels& kernels_;
  Batch& batch_;
  Fusion& fusion_;
  compute::Tensor source_;
  std::array<Prepared, kernels::kActivationFormatCount> prepared_;
};

}  // namespace aster::vulkan
