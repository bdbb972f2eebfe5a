// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/page_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>

#include "base/check.h"

namespace aster::kv {

Result<MemoryBlock> MemoryBlock::Map(size_t bytes) {
  const bool huge = bytes >= kHugePageBytes;
  // A little more, to cut an aligned piece out of.
  const size_t mapped_bytes = huge ? bytes + kHugePageBytes : bytes;
  void* const mapped = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return SystemError(
        errno,
        fmt::format("the system has no {} bytes of memory for keys and values", mapped_bytes));
  }
  auto* begin = static_cast<uint8_t*>(mapped);
  if (huge) {
    const size_t before = -reinterpret_cast<uintptr_t>(begin) % kHugePageBytes;
    if (before > 0) munmap(begin, before);
    begin += before;
    munmap(begin + bytes, mapped_bytes - before - bytes);
#ifdef MADV_HUGEPAGE
    madvise(begin, bytes, MADV_HUGEPAGE);  // a wish; without it everything still works
#endif
  }
  return MemoryBlock(begin, bytes);
}

MemoryBlock::~MemoryBlock() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void MemoryBlock::GiveBack(size_t offset, size_t bytes) {
  CHECK(offset + bytes <= bytes_);
  CHECK(madvise(data_ + offset, bytes, MADV_DONTNEED) == 0);
}

}  // namespace aster::kv
