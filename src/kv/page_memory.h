// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Memory for pages, straight from the system: taken in large pieces (base/large_pages.h), and given
// back page by page. Must not know what is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace aster::kv {

// A piece of zeroed memory. Takes no memory until it is touched. Not for concurrent use.
class MemoryBlock {
 public:
  // `bytes` is a multiple of the system's page.
  static Result<MemoryBlock> Map(size_t bytes);

  MemoryBlock(MemoryBlock&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  MemoryBlock& operator=(MemoryBlock&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryBlock();

  uint8_t* data() const { return data_; }

  // The bytes (whole pages of the system) are zeros from now on, and take no memory until they are
  // touched again.
  void GiveBack(size_t offset, size_t bytes);

 private:
  MemoryBlock(uint8_t* data, size_t bytes) : data_(data), bytes_(bytes) {}

  uint8_t* data_;  // [bytes_], owned
  size_t bytes_;
};

}  // namespace aster::kv
