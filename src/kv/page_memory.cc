// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/page_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>

#include "base/check.h"
#include "base/large_pages.h"

namespace aster::kv {

Result<MemoryBlock> MemoryBlock::Map(size_t bytes) {
  uint8_t* const data = MapLargePages(bytes, /*reserved=*/false);
  if (data == nullptr) {
    return SystemError(errno,
                       fmt::format("the system has no {} bytes of memory for the KV cache", bytes));
  }
  return MemoryBlock(data, bytes);
}

MemoryBlock::~MemoryBlock() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void MemoryBlock::GiveBack(size_t offset, size_t bytes) {
  CHECK(offset + bytes <= bytes_);
  CHECK(madvise(data_ + offset, bytes, MADV_DONTNEED) == 0);
}

}  // namespace aster::kv
