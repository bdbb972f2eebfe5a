// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A mixture of experts on the device. Only the device knows which experts a row goes to: a product
// reads the address of every row's matrix from a table. If an expert has several rows, the device
// groups them, so that its weights are read once for a group. Must not know attention.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compute/commands.h"
#include "vulkan/backend/batch.h"
#include "vulkan/backend/operand.h"
#include "vulkan/kernels/elements.h"
#include "vulkan/kernels/experts.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

// The operation that joins gate and up of a feed-forward network.
ElementOperation OperationOf(compute::GateKind kind);

// Belongs to the commands of its batch.
class DeviceExperts {
 public:
  DeviceExperts(Kernels& kernels, Batch& batch) : kernels_(kernels), batch_(batch) {}

  Status Choose(const compute::ExpertChoice& choice);
  Status Sum(const compute::ExpertSum& sum);
  // The two halves of Sum.
  Status Expand(const compute::ExpertSum& sum, const compute::Tensor& wide);
  Status Contract(const compute::ExpertSum& sum, DeviceOperand& chosen, DeviceOperand& shared);
  // The part of Sum of the experts on this machine: [rows, width] of int64, for the host once the
  // batch is done.
  Result<const uint8_t*> SumOwn(const compute::ExpertSum& sum, const compute::OwnExperts& own);

 private:
  // All experts' matrices of one kind (gate, up or down).
  struct Matrices {
    const compute::Matrix* first = nullptr;  // they have one shape and type
    Address table = 0;
  };
  struct AllMatrices {
    Matrices gate;
    Matrices up;
    Matrices down;
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
    uint32_t first_slot() const { return first * used; }
    Range id_range() const { return {ids, uint64_t{slots()} * sizeof(uint32_t)}; }
  };
  // Outputs of the shared expert for all rows, or for some.
  struct SharedRows {
    Range rows = {};
    std::vector<uint32_t> places = {};  // [rows of the batch]: the output of each; none: in order
  };

  Result<Matrices> PutMatrices(const compute::ExpertSum& sum,
                               compute::Matrix compute::ExpertWeights::* kind);
  Result<AllMatrices> PutAllMatrices(const compute::ExpertSum& sum);
  template <typename Record>
  static Status ForEachPart(const compute::ExpertSum& sum, Record record);
  Result<ExpertGroups> Group(const Part& part, const compute::ExpertSum& sum);
  Result<ExpertGroups> GroupOwn(const Part& part, const compute::ExpertSum& sum,
                                const compute::OwnExperts& own);
  Result<Range> Room(Scratch which, uint64_t rows, uint64_t columns);
  Status Multiply(const Matrices& matrices, const Part& part, const PreparedRows& rows,
                  uint32_t first_row, uint32_t sharing, const Range& out);
  Status Multiply(const compute::Matrix& matrix, const PreparedRows& rows, const Range& out);
  Status Gate(const Range& gate, const Range& up, compute::GateKind kind, float limit);
  Status AddBias(const compute::Tensor& biases, const Part& part, const Range& rows);
  Result<PreparedRows> PrepareHidden(const Range& gate, uint32_t rows, const compute::Matrix& down);
  Status ExpandPart(const compute::ExpertSum& sum, DeviceOperand& rows, const AllMatrices& matrices,
                    const Part& part, const Range& gate);
  Result<Range> RunPart(const compute::ExpertSum& sum, DeviceOperand& rows,
                        const AllMatrices& matrices, const Part& part);
  Result<Range> ContractPart(const compute::ExpertSum& sum, const Matrices& downs, const Part& part,
                             const PreparedRows& hidden, uint32_t first_row);
  Status ExpandShared(const compute::ExpertSum& sum, const PreparedRows& of_gate,
                      const PreparedRows& of_up, const Range& gate);
  Result<Range> RunShared(const compute::ExpertSum& sum, const PreparedRows& of_gate,
                          const PreparedRows& of_up);
  Result<PreparedRows> RowsAt(DeviceOperand& rows, const compute::Matrix& matrix, Scratch which,
                              const std::vector<uint32_t>& indices);
  Result<SharedRows> RunOwnShared(const compute::ExpertSum& sum, DeviceOperand& rows,
                                  const compute::OwnExperts& own);
  Status SumPart(const compute::ExpertSum& sum, const Part& part, const Range& down,
                 const Range& more);
  Status SumOwnPart(const compute::ExpertSum& sum, const compute::OwnExperts& own, const Part& part,
                    const Range& down, const SharedRows& more);

  Kernels& kernels_;
  Batch& batch_;
  std::optional<Buffer> sums_;  // of the experts here
};

}  // namespace aster::vulkan
