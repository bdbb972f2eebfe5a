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

// Rows of activations, prepared at most once for each format that a matrix needs. Reused from batch
// to batch.
class CpuOperand final : public Operand {
 public:
  void Set(const Tensor& rows) override;
  // Rows [rows, columns] of floats, `row_stride` apart, prepared when In needs them; they must not
  // change until the next Set.
  void Set(const float* data, size_t row_stride, size_t rows, size_t columns);
  // Rows `indices` of `other`; both must not change until the next Set.
  void SetGathered(CpuOperand& other, std::span<const uint32_t> indices);

  // Rows whose columns AddPart adds in blocks of this format, before the first product; all
  // matrices must use this format.
  Status SetInParts(kernels::ActivationFormat format, size_t rows, size_t columns);
  void AddPart(Bytes blocks, const BlockColumns& part, Context& context);

  size_t rows() const { return source_.rows; }
  size_t columns() const { return source_.columns; }

  // The rows in a format, prepared on all threads if they are not yet.
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

// Computes all products together: threads divide the panels of all matrices.
Status MultiplyAll(std::span<const CpuProduct> products, Context& context);

}  // namespace aster::compute
