// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/buffer.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include "base/large_pages.h"
#include "base/units.h"

namespace aster::compute {

Result<Buffer> Buffer::Allocate(size_t bytes) {
  Buffer buffer;
  if (bytes == 0) return buffer;
  uint8_t* const data = MapLargePages(bytes, /*reserved=*/true);
  if (data == nullptr) {
    return ResourceExhausted(
        fmt::format("the system has no {} of memory left", FormatBytes(bytes)));
  }
  buffer.data_ = data;
  buffer.bytes_ = bytes;
  return buffer;
}

Buffer::~Buffer() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

Status Buffer::Grow(size_t bytes) {
  if (bytes <= bytes_) return Ok();
  *this = Buffer();
  *this = TRY(Allocate(bytes));
  return Ok();
}

}  // namespace aster::compute
