// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Two operations as one kernel, where the second follows at once: a norm or a gate and the
// preparing of its rows, a product of few rows and its sum with others, the turn of keys and their
// writing into pages. The first waits in the
// batch until what follows is known; everything that it writes is written either way. On a fast
// device a kernel of a few rows takes less time than the wait for the one before it. Must not know
// models.
#pragma once

#include <optional>
#include <variant>

#include "compute/commands.h"
#include "vulkan/backend/batch.h"
#include "vulkan/kernels/products.h"
#include "vulkan/kernels/rows.h"

namespace aster::vulkan {

// Heads one after the other, those of a row's first.
compute::Tensor HeadRows(const compute::Heads& heads);
RopeJob TurnOf(const compute::Heads& heads);

// Belongs to the commands of its batch.
class Fusion {
 public:
  Fusion(Kernels& kernels, Batch& batch) : kernels_(kernels), batch_(batch) {}

  // --- What may wait.

  Status Normalise(const compute::Normalisation& norm);
  Status Gate(const compute::Tensor& gate, const compute::Tensor& up, ElementOperation operation,
              float limit);
  // `rows` is where the job's activations are.
  Status Multiply(const ProductJob& job, const Range& rows, const compute::Tensor& out);
  Status Turn(const compute::Heads& heads);

  // --- What may follow. True where it is recorded, together with what has waited.

  Result<bool> Prepare(const compute::Tensor& rows, kernels::ActivationFormat format,
                       const Range& prepared);
  Result<bool> Add(const compute::Tensor& rows, const compute::Tensor& more);
  // How these keys are to be turned, where that is all that waits; nothing is recorded yet. Nobody
  // but the pages gets the turned keys.
  std::optional<compute::Heads> TakeTurn(const compute::Tensor& keys);

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
  // What waits, which then does no more.
  template <typename Operation>
  std::optional<Operation> Take();
  Status RecordAlone();

  Kernels& kernels_;
  Batch& batch_;
  Waiting waiting_;
};

}  // namespace aster::vulkan
