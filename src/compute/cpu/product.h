// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Products of many matrices with many rows, on all threads at once. Must not know layers.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "compute/buffer.h"
#include "compute/commands.h"
#include "compute/context.h"
#include "kernels/activations.h"

namespace aster::compute {

// Rows of activations, prepared at most once for each format that a matrix asks for. Reused from
// batch to batch.
class CpuOperand final : public Operand {
 public:
  void Set(const Tensor& rows) override;
  // Rows [rows, columns] of floats, `row_stride` apart, to be prepared when they are asked for;
  // they must not change until the next Set.
  void Set(const float* data, size_t row_stride, size_t rows, size_t columns);
  // Rows `indices` of `other`; both must not change until the next Set.
  void SetGathered(CpuOperand& other, std::span<const uint32_t> indices);

  // Rows whose columns come one part after the other, in blocks of this format, before a matrix
  // asks for it; none asks for another one.
  Status SetInParts(kernels::ActivationFormat format, size_t rows, size_t columns);
  void AddPart(Bytes blocks, const BlockColumns& part, Context& context);

  size_t rows() const { return source_.rows; }
  size_t columns() const { return source_.columns; }

  // Prepares on all threads, unless it is done already.
  Result<const uint8_t*> In(kernels::ActivationFormat format, Context& context);

 private:
  struct Prepared {
    Buffer buffer;
    bool done = false;
  };

  kernels::ActivationSource source_{};
  CpuOperand* gathered_from_ = nullptr;
  std::span<const uint32_t> indices_;
  std::array<Prepared, kernels::kActivationFormatCount> prepared_;
};

// out[i] = matrix · rows[i], for all rows.
struct CpuProduct {
  const Matrix* matrix;
  CpuOperand* rows;
  float* out;         // [rows, out_stride]
  size_t out_stride;  // floats
};

// All of them together: threads share out the panels of all matrices.
Status MultiplyAll(std::span<const CpuProduct> products, Context& context);

}  // namespace aster::compute
