// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Memory for numbers: aligned for every instruction set, not initialised, in large pages if the
// system has them. Must not know what it holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace aster::compute {

// Owns its memory; movable. Not for concurrent use, except for its content.
class Buffer {
 public:
  // Cache lines, and the widest register.
  static constexpr size_t kAlignment = 64;

  // ResourceExhausted if the system has no more.
  static Result<Buffer> Allocate(size_t bytes);

  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer();

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  template <typename T>
  T* As() {
    return reinterpret_cast<T*>(data_);
  }

  // Room for at least `bytes`; growing loses the content.
  Status Grow(size_t bytes);

 private:
  uint8_t* data_ = nullptr;  // [bytes_], mapped
  size_t bytes_ = 0;
};

}  // namespace aster::compute
