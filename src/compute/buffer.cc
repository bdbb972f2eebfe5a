// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/buffer.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include "base/units.h"

namespace aster::compute {

Result<Buffer> Buffer::Allocate(size_t bytes) {
  Buffer buffer;
  if (bytes == 0) return buffer;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return ResourceExhausted(
        fmt::format("the system has no {} of memory left", FormatBytes(bytes)));
  }
  // Fewer, larger pages: decoding streams through gigabytes, and every page it enters must be
  // looked up.
  madvise(data, bytes, MADV_HUGEPAGE);
  buffer.data_ = static_cast<uint8_t*>(data);
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
