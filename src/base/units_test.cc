// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace aster {
namespace {

TEST(Units, Bytes) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.00 KiB");
  EXPECT_EQ(FormatBytes(1536), "1.50 KiB");
  EXPECT_EQ(FormatBytes(1023 * 1024), "1023 KiB");
  EXPECT_EQ(FormatBytes(1024 * 1024 - 1), "1.00 MiB");
  EXPECT_EQ(FormatBytes(1'610'612'736), "1.50 GiB");
  EXPECT_EQ(FormatBytes(12'345'678'901), "11.5 GiB");
  EXPECT_EQ(FormatBytes(std::numeric_limits<uint64_t>::max()), "16.0 EiB");
}

TEST(Units, Counts) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1.00 K");
  EXPECT_EQ(FormatCount(9'996), "10.0 K");
  EXPECT_EQ(FormatCount(128'256), "128 K");
  EXPECT_EQ(FormatCount(999'499), "999 K");
  EXPECT_EQ(FormatCount(999'500), "1.00 M");
  EXPECT_EQ(FormatCount(1'235'814'432), "1.24 B");
  EXPECT_EQ(FormatCount(671'000'000'000'000), "671 T");
}

TEST(Units, Rates) {
  EXPECT_EQ(FormatRate(88.12, "tokens"), "88.1 tokens/s");
  EXPECT_EQ(FormatRate(1234.5, "tokens"), "1234 tokens/s");
  EXPECT_EQ(FormatByteRate(6.9e9), "6.90 GB/s");
  EXPECT_EQ(FormatByteRate(12), "12.0 B/s");
}

TEST(Units, Durations) {
  constexpr int64_t kSecond = 1'000'000'000;
  EXPECT_EQ(FormatDuration(0), "0 ns");
  EXPECT_EQ(FormatDuration(850), "850 ns");
  EXPECT_EQ(FormatDuration(12'345), "12.3 µs");
  EXPECT_EQ(FormatDuration(999'999), "1.00 ms");
  EXPECT_EQ(FormatDuration(kSecond * 5 / 4), "1.25 s");
  EXPECT_EQ(FormatDuration(kSecond * 60 - 1), "1 min 00 s");
  EXPECT_EQ(FormatDuration(200 * kSecond), "3 min 20 s");
  EXPECT_EQ(FormatDuration(7500 * kSecond), "2 h 05 min");
  EXPECT_EQ(FormatDuration(76 * 3600 * kSecond), "3 d 04 h");
  EXPECT_EQ(FormatDuration(-1500), "-1.50 µs");
  EXPECT_EQ(FormatDuration(std::numeric_limits<int64_t>::min()), "-106751 d 23 h");
}

TEST(Units, ParsesBytes) {
  EXPECT_EQ(ParseBytes("4096").value(), 4096U);
  EXPECT_EQ(ParseBytes("1.5 GiB").value(), 1'610'612'736U);
  EXPECT_EQ(ParseBytes(" 64MB ").value(), 64'000'000U);
  EXPECT_EQ(ParseBytes("2g").value(), 2ULL << 30);
  EXPECT_EQ(ParseBytes("0 B").value(), 0U);
  EXPECT_EQ(ParseBytes("16777215 TiB").value(), 16777215ULL << 40);
  for (const char* bad : {"", "GiB", "-1", "1 XB", "1 G B", "1e3", "0x10", "nan", "inf", "1..2",
                          "16777216 TiB", "99999999999999999999", "1,5 GiB", "1 GiBs"}) {
    EXPECT_FALSE(ParseBytes(bad).ok()) << bad;
  }
  EXPECT_EQ(ParseBytes("lots").error().message(),
            "'lots' is not a size; write for example 4096, 64 MiB or 1.5 GB");
}

TEST(Units, ParsesCountsAndDurations) {
  EXPECT_EQ(ParseCount("128k").value(), 128'000U);
  EXPECT_EQ(ParseCount("1.24 B").value(), 1'240'000'000U);
  EXPECT_FALSE(ParseCount("1 KiB").ok());
  EXPECT_EQ(ParseDuration("500ms").value(), 500'000'000);
  EXPECT_EQ(ParseDuration("1.5 s").value(), 1'500'000'000);
  EXPECT_EQ(ParseDuration("2 min").value(), 120'000'000'000);
  EXPECT_EQ(ParseDuration("3 µs").value(), 3000);
  EXPECT_FALSE(ParseDuration("5").ok());
  EXPECT_FALSE(ParseDuration("1000000 d").ok());
}

TEST(Units, WhatIsFormattedCanBeParsed) {
  for (uint64_t bytes = 1; bytes < uint64_t{1} << 50; bytes = bytes * 3 + 1) {
    const auto parsed = static_cast<double>(ParseBytes(FormatBytes(bytes)).value());
    EXPECT_NEAR(parsed / static_cast<double>(bytes), 1, 0.006) << bytes;
  }
}

}  // namespace
}  // namespace aster
