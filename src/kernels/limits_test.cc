// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/limits.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "base/random.h"
#include "kernels/limits_choice.h"

namespace aster::kernels {
namespace {

TEST(LimitsTest, EveryRoundDoesTheMultiplyAddsThatItSays) {
  ASSERT_FALSE(AvailableLimits().empty());
  for (const LimitLoops* loops : AvailableLimits()) {
    SCOPED_TRACE(loops->dot_name);
    EXPECT_GT(loops->dots_per_round, 0u);
    for (const uint64_t rounds : {0, 1, 2, 3, 1000}) {
      EXPECT_EQ(loops->dot(rounds), rounds * loops->dots_per_round);
    }
  }
}

TEST(LimitsTest, EveryByteIsRead) {
  constexpr size_t kBytes = 4 * kReadMultiple;
  const auto words = std::make_unique<uint64_t[]>((kBytes + 64) / sizeof(uint64_t));
  auto* bytes = reinterpret_cast<uint8_t*>(words.get());
  while (reinterpret_cast<uintptr_t>(bytes) % 64 != 0) bytes += sizeof(uint64_t);
  Random random(/*seed=*/5);
  uint64_t sum[5] = {};
  for (size_t i = 0; i < kBytes / sizeof(uint64_t); ++i) {
    const uint64_t word = random.NextU64();
    std::memcpy(bytes + i * sizeof(word), &word, sizeof(word));
    for (size_t pages = i * sizeof(word) / kReadMultiple + 1; pages < 5; ++pages) {
      sum[pages] += word;
    }
  }
  for (const LimitLoops* loops : AvailableLimits()) {
    SCOPED_TRACE(loops->dot_name);
    for (size_t pages = 0; pages < 5; ++pages) {
      EXPECT_EQ(loops->read(bytes, pages * kReadMultiple), sum[pages]);
    }
  }
}

}  // namespace
}  // namespace aster::kernels
