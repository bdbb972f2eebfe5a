// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Memory for one batch, taken piece by piece from large buffers that are kept for the next batch.
// Must not know what it holds.
#pragma once

#include <cstdint>
#include <deque>

#include "base/result.h"
#include "vulkan/driver/buffer.h"

namespace aster::vulkan {

// A piece of a buffer, at a multiple of Buffer::kAlignment.
struct Piece {
  const Buffer* buffer;
  uint64_t offset;

  uint8_t* data() const { return buffer->data() + offset; }
  uint64_t address() const { return buffer->address() + offset; }
};

// Not for concurrent use. Outlived by its device.
class Arena {
 public:
  struct Chunk {
    Buffer buffer;
    uint64_t used = 0;
  };

  // Buffers have at least `chunk_bytes`.
  Arena(Device& device, MemoryKind kind, uint64_t chunk_bytes)
      : device_(device), kind_(kind), chunk_bytes_(chunk_bytes) {}

  // Valid until Clear. Two arenas with the same chunk size give the same places for the same calls.
  Result<Piece> Take(uint64_t bytes);
  // All of it is free again.
  void Clear();
  // Frees the buffers that were not used since the last Trim. Call it after Clear.
  void Trim();

  const std::deque<Chunk>& chunks() const { return chunks_; }

 private:
  Device& device_;
  const MemoryKind kind_;
  const uint64_t chunk_bytes_;
  std::deque<Chunk> chunks_;
  size_t current_ = 0;
  size_t most_used_ = 0;  // chunks, since the last Trim
};

}  // namespace aster::vulkan
