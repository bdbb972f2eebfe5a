// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows that matrices are multiplied with, prepared on the device. Must not know matrices.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "compute/buffer.h"
#include "compute/commands.h"
#include "compute/context.h"
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

// Records the preparation of rows into `prepared`.
struct RowPreparer {
  Kernels& kernels;
  Batch& batch;
  Fusion& fusion;

  Status Prepare(const compute::Tensor& rows, kernels::ActivationFormat format,
                 const Range& prepared) const;
};

// Keeps its memory from batch to batch. The batch outlives it.
class DeviceOperand final : public compute::Operand {
 public:
  DeviceOperand(Kernels& kernels, Batch& batch, Fusion& fusion)
      : preparer_{kernels, batch, fusion}, batch_(batch) {}

  void Set(const compute::Tensor& rows) override;
  // Rows whose columns the host joins from parts in this format, before the first product; all
  // products must use this format.
  Status SetInParts(kernels::ActivationFormat format, size_t rows, size_t columns);
  void AddPart(Bytes blocks, const compute::BlockColumns& part, compute::Context& host);

  size_t rows() const { return source_.rows; }
  size_t columns() const { return source_.columns; }

  // Records the preparation, unless the batch has it already.
  Result<PreparedRows> In(kernels::ActivationFormat format);

 private:
  struct Prepared {
    std::optional<Buffer> buffer;
    uint64_t batch = 0;  // the one that has prepared them
  };

  // Fills the buffer with the prepared rows: on the device, or from the host if it has joined them.
  Status Fill(kernels::ActivationFormat format, const Buffer& buffer, size_t bytes);

  const RowPreparer preparer_;
  Batch& batch_;
  compute::Tensor source_;  // without memory if the host has joined the rows
  compute::Buffer joined_;
  kernels::ActivationFormat joined_format_ = {};
  std::array<Prepared, kernels::kActivationFormatCount> prepared_;
};

}  // namespace aster::vulkan
