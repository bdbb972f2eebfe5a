// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/page_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>

#include "base/check.h"

namespace aster::kv {

Result<MemoryBlock> MemoryBlock::Map(size_t bytes) {
  CHECK(bytes % kBlockAlignment == 0);
  // A little more, to cut an aligned piece out of.
  const size_t mapped_bytes = bytes + kBlockAlignment;
  void* const mapped = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return SystemError(
        errno,
        fmt::format("the system has no {} bytes of memory for keys and values", mapped_bytes));
  }
  auto* const begin = static_cast<uint8_t*>(mapped);
  const size_t before = -reinterpret_cast<uintptr_t>(begin) % kBlockAlignment;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + bytes, mapped_bytes - before - bytes);
#ifdef MADV_HUGEPAGE
  madvise(begin + before, bytes, MADV_HUGEPAGE);  // a wish; without it everything still works
#endif
  return MemoryBlock(begin + before, bytes);
}

MemoryBlock::~MemoryBlock() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void MemoryBlock::GiveBack(size_t offset, size_t bytes) {
  CHECK(offset + bytes <= bytes_);
  CHECK(madvise(data_ + offset, bytes, MADV_DONTNEED) == 0);
}

}  // namespace aster::kv
