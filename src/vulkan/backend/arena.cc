// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/arena.h"

#include <algorithm>

namespace aster::vulkan {

Result<Piece> Arena::Take(uint64_t bytes) {
  const uint64_t wanted = (std::max<uint64_t>(bytes, 1) + Buffer::kAlignment - 1) /
                          Buffer::kAlignment * Buffer::kAlignment;
  const auto has_room = [&](const Chunk& chunk) {
    return chunk.buffer.bytes() - chunk.used >= wanted;
  };
  while (current_ < chunks_.size() && !has_room(chunks_[current_])) ++current_;
  if (current_ == chunks_.size()) {
    chunks_.push_back({TRY(Buffer::Allocate(device_, std::max(wanted, chunk_bytes_), kind_)), 0});
  }
  Chunk& chunk = chunks_[current_];
  const Piece piece{&chunk.buffer, chunk.used};
  chunk.used += wanted;
  most_used_ = std::max(most_used_, current_ + 1);
  return piece;
}

void Arena::Clear() {
  for (Chunk& chunk : chunks_) chunk.used = 0;
  current_ = 0;
}

void Arena::Trim() {
  while (chunks_.size() > most_used_) chunks_.pop_back();
  most_used_ = 0;
}

}  // namespace aster::vulkan
