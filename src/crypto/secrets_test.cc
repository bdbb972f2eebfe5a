// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "crypto/secrets.h"

#include <gtest/gtest.h>

namespace aster::crypto {
namespace {

TEST(Secrets, AreComparedWhole) {
  const std::vector<uint8_t> a = RandomSecret(32).value();
  std::vector<uint8_t> b = a;
  EXPECT_TRUE(EqualSecrets(a, b));
  b[31] ^= 1;
  EXPECT_FALSE(EqualSecrets(a, b));
  EXPECT_FALSE(EqualSecrets(a, Bytes(a).first(31)));
  EXPECT_NE(a, RandomSecret(32).value());
}

}  // namespace
}  // namespace aster::crypto
