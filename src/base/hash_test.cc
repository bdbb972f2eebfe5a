// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace aster {
namespace {

std::vector<uint8_t> Sample(size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 251);
  return bytes;
}

// XXH3's published hash of no bytes, and its hash of a word when this was written. Fingerprints are
// stored on disk and sent to other machines, so they may never change.
TEST(Hash, KnownAnswers) {
  EXPECT_EQ(Hash64Of({}), 0x2D06800538D394C2U);
  EXPECT_EQ(Hash128Of({}).ToHex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(Hash64Of(AsBytes("asterism")), 0xAEFBD087956D60AU);
  EXPECT_EQ(Hash128Of(AsBytes("asterism")).ToHex(), "93023bbc34f9fdec09bab63e0dd18e06");
}

TEST(Hash, EveryByteAndTheSeedCount) {
  std::vector<uint8_t> bytes = Sample(300);
  const Hash128 whole = Hash128Of(bytes);
  EXPECT_NE(Hash128Of(bytes, 1), whole);
  EXPECT_NE(Hash64Of(bytes, 1), Hash64Of(bytes));
  for (uint8_t& byte : bytes) {
    byte ^= 1;
    EXPECT_NE(Hash128Of(bytes), whole);
    byte ^= 1;
  }
}

TEST(Hasher, PiecesMakeTheSameWhole) {
  const std::vector<uint8_t> bytes = Sample(3000);
  const Hash128 whole = Hash128Of(bytes);
  for (size_t piece : {1, 7, 256, 1024, 2999, 3000}) {
    Hasher hasher;
    for (size_t begin = 0; begin < bytes.size(); begin += piece) {
      hasher.Add(Bytes(bytes).subspan(begin, std::min(piece, bytes.size() - begin)));
    }
    EXPECT_EQ(hasher.Digest(), whole) << piece;
  }
}

TEST(Hasher, TextsKnowTheirEnds) {
  const auto hash_of = [](std::initializer_list<std::string_view> texts) {
    Hasher hasher;
    for (std::string_view text : texts) hasher.AddText(text);
    return hasher.Digest();
  };
  const std::set<Hash128> distinct = {hash_of({"ab", "c"}), hash_of({"a", "bc"}), hash_of({"abc"}),
                                      hash_of({"abc", ""}), hash_of({"", "abc"}), hash_of({})};
  EXPECT_EQ(distinct.size(), 6U);
}

TEST(Hasher, ValuesAreTheirBytes) {
  Hasher by_value;
  by_value.AddValue<uint32_t>(0x04030201);
  const uint8_t bytes[] = {1, 2, 3, 4};
  EXPECT_EQ(by_value.Digest(), Hash128Of(bytes));
}

TEST(Hasher, AnswersInBetweenAndMoves) {
  Hasher hasher;
  hasher.Add(AsBytes("a"));
  EXPECT_EQ(hasher.Digest(), Hash128Of(AsBytes("a")));
  Hasher moved = std::move(hasher);
  moved.Add(AsBytes("b"));
  EXPECT_EQ(moved.Digest(), Hash128Of(AsBytes("ab")));
}

TEST(Hash, HexHasAllDigits) {
  EXPECT_EQ((Hash128{.low = 1, .high = 2}).ToHex(), "00000000000000020000000000000001");
}

}  // namespace
}  // namespace aster
