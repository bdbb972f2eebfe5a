// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/cpu/backend.h"

#include <utility>

#include "compute/cpu/commands.h"
#include "compute/cpu/memory.h"

namespace aster::compute {

Result<std::unique_ptr<Memory>> CpuBackend::Allocate(size_t bytes) {
  return std::make_unique<CpuMemory>(TRY(Buffer::Allocate(bytes)));
}

Status CpuBackend::Write(Memory& memory, size_t offset, size_t count, size_t unit_bytes,
                         WriteUnits write) {
  CHECK(offset + count * unit_bytes <= memory.bytes());
  uint8_t* const out = static_cast<CpuMemory&>(memory).data() + offset;
  host_.pool.ParallelFor(count, [&](size_t begin, size_t end, size_t) {
    write(begin, end, out + begin * unit_bytes);
  });
  return Ok();
}

std::unique_ptr<Commands> CpuBackend::NewCommands() { return std::make_unique<CpuCommands>(host_); }

}  // namespace aster::compute
