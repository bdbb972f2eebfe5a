// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Fuses two operations into one kernel if the second follows at once: a norm or a gate and
// preparing its rows, a product of few rows and adding it to others, RoPE of keys and writing them
// into pages. The first operation waits in the batch until the next one is known; all of its
// results are written in either case. On a fast device a kernel of few rows takes less time than
// the barrier before it. Must not know models.
#pragma once

#include <optional>
#include <variant>

#include "compute/commands.h"
#include "vulkan/backend/batch.h"
#include "vulkan/kernels/products.h"
#include "vulkan/kernels/rows.h"

namespace aster::vulkan {

// Heads as rows, row by row.
compute::Tensor HeadRows(const compute::Heads& heads);
RopeJob RopeJobOf(const compute::Heads& heads);

// Belongs to the commands of its batch.
class Fusion {
 public:
  Fusion(Kernels& kernels, Batch& batch) : kernels_(kernels), batch_(batch) {}

  // --- First operations, which may wait.

  Status Normalise(const compute::Normalisation& norm);
  Status Gate(const compute::Tensor& gate, const compute::Tensor& up, ElementOperation operation,
              float limit);
  // `rows`: the memory of the job's activations.
  Status Multiply(const ProductJob& job, const Range& rows, const compute::Tensor& out);
  Status Rotate(const compute::Heads& heads);

  // --- Second operations. True if they are recorded, together with the one that waited.

  Result<bool> Prepare(const compute::Tensor& rows, kernels::ActivationFormat format,
                       const Range& prepared);
  Result<bool> Add(const compute::Tensor& rows, const compute::Tensor& more);
  // Takes the waiting RoPE of these keys, if it is all that waits: the caller records it. The
  // turned keys are then written only into the pages.
  std::optional<compute::Heads> TakeRotation(const compute::Tensor& keys);

 private:
  struct GateOfRows {
    compute::Tensor gate;
    compute::Tensor up;
    GateJob job;
  };
  struct ProductOfRows {
    ProductJob job;
    Range rows;
    compute::Tensor out;
  };
  using Waiting = std::variant<std::monostate, compute::Normalisation, GateOfRows, ProductOfRows,
                               compute::Heads>;

  void Wait(Waiting waiting);
  // Takes the waiting operation if it is of this type.
  template <typename Operation>
  std::optional<Operation> Take();
  Status RecordAlone();

  Kernels& kernels_;
  Batch& batch_;
  Waiting waiting_;
};

}  // namespace aster::vulkan
