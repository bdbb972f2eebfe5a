// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/large_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace aster {
namespace {

void Unmap(uint8_t* begin, const uint8_t* end) {
  if (begin != end) munmap(begin, static_cast<size_t>(end - begin));
}

}  // namespace

uint8_t* MapLargePages(size_t bytes, bool reserved) {
  // A little more, to cut an aligned piece out.
  const bool large = bytes >= kLargePageBytes;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t kept = (bytes + page - 1) / page * page;
  const size_t all = large ? kept + kLargePageBytes : kept;
  if (all < bytes) {
    errno = ENOMEM;
    return nullptr;
  }
  void* const mapped = mmap(nullptr, all, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | (reserved ? 0 : MAP_NORESERVE), -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const first = static_cast<uint8_t*>(mapped);
  if (!large) return first;
  uint8_t* const begin = first + -reinterpret_cast<uintptr_t>(first) % kLargePageBytes;
  Unmap(first, begin);
  Unmap(begin + kept, first + all);
#ifdef MADV_HUGEPAGE
  madvise(begin, kept, MADV_HUGEPAGE);  // a hint; without it everything still works
#endif
  return begin;
}

}  // namespace aster
