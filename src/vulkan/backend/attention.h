// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention of a batch over pages on the device: writes the new rows into their pages, then
// computes attention for every row. Must not know weights or norms.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/commands.h"
#include "vulkan/backend/attention_plan.h"
#include "vulkan/backend/batch.h"
#include "vulkan/backend/fusion.h"
#include "vulkan/kernels/attention.h"

namespace aster::vulkan {

// Belongs to the commands of its batch.
class DeviceAttention {
 public:
  DeviceAttention(Kernels& kernels, Batch& batch, Fusion& fusion)
      : kernels_(kernels), batch_(batch), fusion_(fusion) {}

  // Drops the plans of the batch before.
  void Begin() {
    plans_.clear();
    planned_ = nullptr;
  }
  Status Record(const compute::HeadAttention& attention);

 private:
  // A plan, and its tables in device memory.
  struct Planned {
    AttentionShape shape;
    std::vector<compute::PageSpan> spans;
    AttentionPlan plan;
    Address visible = 0;
    Address writes = 0;
    Address blocks = 0;
    Address parts = 0;
  };

  AttentionShape ShapeOf(const compute::HeadAttention& attention) const;
  Status Plan(const compute::HeadAttention& attention);
  Result<Address> PutPages(const compute::PagesOf& pages, bool has_rows, uint64_t offset);
  Status WriteRows(const compute::HeadAttention& attention, Address pages);
  Status Attend(const compute::HeadAttention& attention, Address pages);
  Status AttendParts(const compute::HeadAttention& attention, AttentionJob job);

  Kernels& kernels_;
  Batch& batch_;
  Fusion& fusion_;
  std::vector<Planned> plans_;        // of the batch
  const Planned* planned_ = nullptr;  // of the last layer recorded
};

}  // namespace aster::vulkan
