// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Layers that keep a state in place of keys and values, on a device (docs/delta-net.md): writes the
// tokens' inputs into pages, and updates the states in pages, one token after the other. The device
// itself finds which position the states of an open page belong to. Must not know models.
#pragma once

#include <vector>

#include "compute/commands.h"
#include "vulkan/backend/batch.h"
#include "vulkan/kernels/states.h"

namespace aster::vulkan {

// Belongs to the commands of its batch.
class DeviceStates {
 public:
  DeviceStates(Kernels& kernels, Batch& batch) : kernels_(kernels), batch_(batch) {}

  Status Run(const compute::DeltaNet& net);

 private:
  // The data of a batch's sequences that is the same for all layers.
  struct Plan {
    std::vector<compute::PageSpan> spans;  // those with tokens
    StateCourses courses = {};             // without a layer's table
    uint32_t slots = 0;
  };

  Status MakePlan(std::span<const compute::PageSpan> spans);
  Status WriteInputs(const compute::DeltaNet& net, const DeltaSizes& sizes);
  Result<Address> PutTable(const compute::DeltaNet& net);
  Status MakeDirections(const compute::DeltaNet& net, const Range& keys);

  Kernels& kernels_;
  Batch& batch_;
  uint64_t planned_ = 0;  // the batch
  Plan plan_;
};

}  // namespace aster::vulkan
