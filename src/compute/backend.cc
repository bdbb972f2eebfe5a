// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/backend.h"

#include <cstring>

namespace aster::compute {

Result<Array> Array::Of(Backend& backend, std::span<const float> numbers) {
  Array array;
  TRY(array.Shape(backend, 1, numbers.size()));
  TRY(backend.Write(*array.memory_, 0, 1, numbers.size_bytes(), [&](size_t, size_t, uint8_t* out) {
    std::memcpy(out, numbers.data(), numbers.size_bytes());
  }));
  return array;
}

Status Array::Shape(Backend& backend, size_t rows, size_t columns, Element element) {
  const size_t bytes = rows * columns * kElementBytes;
  if (memory_ == nullptr || memory_->bytes() < bytes) {
    *this = Array();  // frees the old memory first
    memory_ = TRY(backend.Allocate(bytes));
  }
  tensor_ = {.memory = memory_.get(),
             .offset = 0,
             .element = element,
             .rows = rows,
             .columns = columns,
             .stride = columns};
  return Ok();
}

}  // namespace aster::compute
