// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/word_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace aster::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WordLines, LinesAreWordsBehindAHeading) {
  const auto lines = ParseWordLines("things 1\na b c\nd\n", "things 1");
  ASSERT_TRUE(lines.ok());
  EXPECT_THAT(*lines, ElementsAre(ElementsAre("a", "b", "c"), ElementsAre("d")));
  EXPECT_TRUE(ParseWordLines("things 1\n", "things 1")->empty());
}

TEST(WordLines, EverythingElseIsRefused) {
  for (const std::string_view text :
       {"", "things 1", "things 1\na", "things 2\n", "\nthings 1\n", "things 1\n\n",
        "things 1\n a\n", "things 1\na \n", "things 1\na  b\n", "things 1\na\tb\n",
        "things 1\na\r\n", "things 1\nä\n", "things 1\n\x7f\n"}) {
    EXPECT_FALSE(ParseWordLines(text, "things 1").ok()) << text;
  }
  EXPECT_FALSE(ParseWordLines(std::string_view("things 1\n\0\n", 11), "things 1").ok());
  const std::string large = "things 1\n" + std::string(kMaxWordLinesBytes, 'a') + "\n";
  EXPECT_THAT(ParseWordLines(large, "things 1").error().message(), HasSubstr("too long"));
}

TEST(WordLines, EveryCutIsNoticedOrIsAWholeNumberOfLines) {
  const std::string text = "things 1\nab cd\nef\n";
  for (size_t size = 0; size < text.size(); ++size) {
    const bool is_whole = size > 0 && text[size - 1] == '\n';
    EXPECT_EQ(ParseWordLines(text.substr(0, size), "things 1").ok(), is_whole) << size;
  }
}

TEST(WordLines, Numbers) {
  EXPECT_EQ(ParseNumber("0").value(), 0U);
  EXPECT_EQ(ParseNumber("9223372036854775807").value(), uint64_t{INT64_MAX});
  for (const std::string_view word :
       {"", "-1", "+1", " 1", "1 ", "0x1", "1e3", "9223372036854775808", "18446744073709551616",
        "99999999999999999999999"}) {
    EXPECT_FALSE(ParseNumber(word).ok()) << word;
  }
}

TEST(WordLines, HashesAndBytesComeBackAsTheyWere) {
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    const Hash128 hash{.low = random.NextU64(), .high = random.NextU64()};
    EXPECT_EQ(ParseHash(hash.ToHex()).value(), hash);
    std::vector<uint8_t> bytes(random.NextBelow(40));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.NextU32());
    EXPECT_EQ(ParseHex(ToHex(bytes)).value(), bytes);
  }
  EXPECT_EQ(ParseHash("0123456789abcdef0011223344556677").value().high, 0x0123456789abcdefU);
  for (const std::string_view word : {"0", "0g", "AB", "0 ", "-1"}) {
    EXPECT_FALSE(ParseHex(word).ok()) << word;
  }
  EXPECT_FALSE(ParseHash("").ok());
  EXPECT_FALSE(ParseHash(std::string(30, 'a')).ok());
  EXPECT_FALSE(ParseHash(std::string(34, 'a')).ok());
}

}  // namespace
}  // namespace aster::cluster
