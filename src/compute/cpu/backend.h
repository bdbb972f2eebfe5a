// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The processor as a back end: the host reads its memory in place, operations are computed on all
// threads as they are recorded, and no batch has to be waited for.
#pragma once

#include <memory>

#include "compute/backend.h"

namespace aster::compute {

// The context outlives it.
class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(Context& host) : host_(host) {}

  Context& host() override { return host_; }
  Result<std::unique_ptr<Memory>> Allocate(size_t bytes) override;
  Status Write(Memory& memory, size_t offset, size_t count, size_t unit_bytes,
               WriteUnits write) override;
  kv::PageMemory& pages() override { return kv::HostPages(); }
  std::unique_ptr<Commands> NewCommands() override;

 private:
  Context& host_;
};

}  // namespace aster::compute
