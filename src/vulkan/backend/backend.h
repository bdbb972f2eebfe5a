// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A device as a back end: tensors, weights and pages in its memory, and operations that are
// recorded into one batch. Must not know models.
#pragma once

#include <memory>

#include "compute/backend.h"
#include "vulkan/backend/pages.h"
#include "vulkan/driver/uploader.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

// Kernels and host outlive it.
class DeviceBackend final : public compute::Backend {
 public:
  // `staged`: tables are copied into device memory before a batch reads them. Not needed if host
  // and device share their memory.
  DeviceBackend(Kernels& kernels, compute::Context& host, bool staged);
  DeviceBackend(Kernels& kernels, compute::Context& host)
      : DeviceBackend(kernels, host, !kernels.device().traits().unified()) {}

  compute::Context& host() override { return host_; }
  Result<std::unique_ptr<compute::Memory>> Allocate(size_t bytes) override;
  Status Write(compute::Memory& memory, size_t offset, size_t count, size_t unit_bytes,
               WriteUnits write) override;
  kv::PageMemory& pages() override { return pages_; }
  std::unique_ptr<compute::Commands> NewCommands() override;

  // Whether work on pages was lost, so that pages do not have the rows that their tables assume.
  bool lost() const { return pages_.failed(); }

 private:
  Status WriteLargeUnits(const Buffer& buffer, size_t offset, size_t count, size_t unit_bytes,
                         WriteUnits write);

  Kernels& kernels_;
  compute::Context& host_;
  const bool staged_;
  Uploader uploader_;
  DevicePages pages_;
};

}  // namespace aster::vulkan
