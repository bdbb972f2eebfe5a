// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/backend.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "vulkan/backend/commands.h"
#include "vulkan/backend/memory.h"

namespace aster::vulkan {
namespace {

constexpr uint64_t kPieceBytes = 16 << 20;

}  // namespace

DeviceBackend::DeviceBackend(Kernels& kernels, compute::Context& host, bool staged)
    : kernels_(kernels),
      host_(host),
      staged_(staged),
      uploader_(kernels.device(), kPieceBytes),
      pages_(kernels.device()) {}

Result<std::unique_ptr<compute::Memory>> DeviceBackend::Allocate(size_t bytes) {
  return std::make_unique<DeviceMemory>(
      TRY(Buffer::Allocate(kernels_.device(), std::max<size_t>(bytes, compute::kElementBytes),
                           MemoryKind::kDevice)),
      bytes);
}

Status DeviceBackend::Write(compute::Memory& memory, size_t offset, size_t count, size_t unit_bytes,
                            WriteUnits write) {
  CHECK(offset + count * unit_bytes <= memory.bytes());
  const Buffer& buffer = static_cast<DeviceMemory&>(memory).buffer();
  if (unit_bytes > kPieceBytes) return WriteLargeUnits(buffer, offset, count, unit_bytes, write);
  const size_t units_of_piece = kPieceBytes / std::max<size_t>(unit_bytes, 1);
  for (size_t first = 0; first < count; first += units_of_piece) {
    const size_t units = std::min(units_of_piece, count - first);
    uint8_t* const out =
        TRY(uploader_.Stage(buffer, offset + first * unit_bytes, units * unit_bytes)).data();
    host_.pool.ParallelFor(units, [&](size_t begin, size_t end, size_t) {
      write(first + begin, first + end, out + begin * unit_bytes);
    });
    TRY(uploader_.Send());
  }
  return uploader_.Finish();
}

Status DeviceBackend::WriteLargeUnits(const Buffer& buffer, size_t offset, size_t count,
                                      size_t unit_bytes, WriteUnits write) {
  std::vector<uint8_t> unit(unit_bytes);
  for (size_t i = 0; i < count; ++i) {
    write(i, i + 1, unit.data());
    TRY(uploader_.Write(unit, buffer, offset + i * unit_bytes));
  }
  return Ok();
}

std::unique_ptr<compute::Commands> DeviceBackend::NewCommands() {
  return std::make_unique<DeviceCommands>(kernels_, pages_, host_, staged_);
}

}  // namespace aster::vulkan
