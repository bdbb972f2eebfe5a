// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows of numbers in the memory of a back end. A view has their place, shape and type, and cannot
// be read: only the back end that owns the memory can access it. Must not know devices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace aster::compute {

// A block of a back end's memory (made by backend.h). Constant after construction, except for its
// content.
class Memory {
 public:
  virtual ~Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  size_t bytes() const { return bytes_; }

 protected:
  explicit Memory(size_t bytes) : bytes_(bytes) {}

 private:
  const size_t bytes_;
};

enum class Element : uint8_t { kF32, kI32 };

inline constexpr size_t kElementBytes = 4;  // of both types

// Rows of `columns` elements, `stride` elements apart. Not owned; empty if there is no such tensor.
struct Tensor {
  Memory* memory = nullptr;
  size_t offset = 0;  // of the first row, in bytes
  Element element = Element::kF32;
  size_t rows = 0;
  size_t columns = 0;
  size_t stride = 0;

  bool empty() const { return memory == nullptr; }

  Tensor Rows(size_t first, size_t count) const {
    DCHECK(first + count <= rows);
    Tensor part = *this;
    part.offset += first * stride * kElementBytes;
    part.rows = count;
    return part;
  }
  Tensor Columns(size_t first, size_t count) const {
    DCHECK(first + count <= columns);
    Tensor part = *this;
    part.offset += first * kElementBytes;
    part.columns = count;
    return part;
  }
  // The same numbers, which must have no gaps, as rows of another length.
  Tensor As(size_t columns_of_row) const {
    DCHECK(stride == columns && rows * columns % columns_of_row == 0);
    Tensor same = *this;
    same.rows = rows * columns / columns_of_row;
    same.columns = same.stride = columns_of_row;
    return same;
  }
  // The same number of shorter rows without gaps, in the first part of the memory.
  Tensor Narrowed(size_t columns_of_row) const {
    DCHECK(stride == columns && columns_of_row <= columns);
    Tensor narrow = *this;
    narrow.columns = narrow.stride = columns_of_row;
    return narrow;
  }
};

}  // namespace aster::compute
