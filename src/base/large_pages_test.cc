// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/large_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <limits>

namespace aster {
namespace {

TEST(LargePages, BeginAtTheirOwnMultiplesAndAreZeros) {
  for (const bool reserved : {false, true}) {
    for (const size_t bytes : {size_t{1}, size_t{5000}, kLargePageBytes - 1, kLargePageBytes,
                               kLargePageBytes + 1, 3 * kLargePageBytes + 4097}) {
      SCOPED_TRACE(bytes);
      uint8_t* const data = MapLargePages(bytes, reserved);
      ASSERT_NE(data, nullptr);
      if (bytes >= kLargePageBytes) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % kLargePageBytes, 0U);
      }
      const size_t places[] = {0, bytes / 2, bytes - 1};
      for (const size_t at : places) EXPECT_EQ(data[at], 0);
      for (const size_t at : places) data[at] = 1;
      EXPECT_EQ(munmap(data, bytes), 0);
    }
  }
}

TEST(LargePages, RefusesWhatNoSystemHas) {
  for (const size_t bytes :
       {std::numeric_limits<size_t>::max(), std::numeric_limits<size_t>::max() - kLargePageBytes,
        std::numeric_limits<size_t>::max() / 2}) {
    errno = 0;
    EXPECT_EQ(MapLargePages(bytes, false), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
}

}  // namespace
}  // namespace aster
