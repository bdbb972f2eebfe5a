// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "crypto/sha256.h"

#include <gtest/gtest.h>

#include <vector>

namespace aster::crypto {
namespace {

// From FIPS 180-2.
TEST(Sha256, HasThePublishedDigests) {
  EXPECT_EQ(ToHex(Sha256Of(AsBytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(ToHex(Sha256().Finish()),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, IsTheSameInAnyPieces) {
  const std::vector<uint8_t> bytes(1000, 0x5a);
  for (const size_t piece : {size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{999}}) {
    Sha256 hash;
    for (size_t i = 0; i < bytes.size(); i += piece) {
      hash.Add(Bytes(bytes).subspan(i, std::min(piece, bytes.size() - i)));
    }
    EXPECT_EQ(hash.Finish(), Sha256Of(bytes)) << piece;
  }
}

}  // namespace
}  // namespace aster::crypto
