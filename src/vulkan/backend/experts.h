// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A mixture of experts on the device. Which experts a row goes to is known to the device only: a
// product reads the address of every row's matrix from a table, and where an expert has several
// rows the device groups them, so that its weights are read once for a group. Must not know
// attention.
#pragma once

#include <array>
#include <cstdint>

#include "compute/commands.h"
#include "vulkan/backend/batch.h"
#include "vulkan/backend/operand.h"
#include "vulkan/kernels/elements.h"
#include "vulkan/kernels/experts.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

// Both halves of a feed-forward network as one.
ElementOperation OperationOf(compute::GateKind kind);

// Belongs to the commands of its batch.
class DeviceExperts {
 public:
  DeviceExperts(Kernels& kernels, Batch& batch) : kernels_(kernels), batch_(batch) {}

  Status Choose(const compute::ExpertChoice& choice);
  Status Sum(const compute::ExpertSum& sum);

 private:
  // One kind of all experts' matrices.
  struct Matrices {
    const compute::Matrix* first;  // they have one shape and type
    Address table;
  };
  // Rows of the batch that are computed together.
  struct Part {
    uint32_t first;
    uint32_t rows;
    uint32_t used;
    Address ids;  // [rows, used]
    Range shares;
    ExpertGroups groups = {};
    uint32_t slots() const { return rows * used; }
    Range id_range() const { return {ids, uint64_t{slots()} * sizeof(uint32_t)}; }
  };

  Result<Matrices> PutMatrices(const compute::ExpertSum& sum,
                               compute::Matrix compute::ExpertWeights::* kind);
  Result<ExpertGroups> Group(const Part& part, const compute::ExpertSum& sum);
  Result<Range> Room(Scratch which, uint64_t rows, uint64_t columns);
  Status Multiply(const Matrices& matrices, const Part& part, const PreparedRows& rows,
                  uint32_t first_row, uint32_t sharing, const Range& out);
  Status Multiply(const compute::Matrix& matrix, const PreparedRows& rows, const Range& out);
  Status Gate(const Range& gate, const Range& up, compute::GateKind kind, float limit);
  Status AddBias(const compute::Tensor& biases, const Part& part, const Range& rows);
  Result<PreparedRows> PrepareHidden(const Range& gate, uint32_t rows, const compute::Matrix& down);
  Result<Range> RunShared(const compute::ExpertSum& sum, DeviceOperand& rows);
  Status SumPart(const compute::ExpertSum& sum, DeviceOperand& rows,
                 const std::array<Matrices, 3>& matrices, Part part, const Range& more);

  Kernels& kernels_;
  Batch& batch_;
};

}  // namespace aster::vulkan
