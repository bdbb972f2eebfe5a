// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/signature.h"

#include <gtest/gtest.h>

#include <array>

#include "cluster/home_for_test.h"
#include "crypto/sha256.h"

namespace aster::cluster {
namespace {

TEST(Signature, IsTheKeysAndTheBytes) {
  const TestAuthority made;
  const TestAuthority other;
  const Bytes bytes = AsBytes("who is revoked");
  const std::vector<uint8_t> signature = Sign(made.authority.key, bytes).value();
  EXPECT_TRUE(CheckSignature(made.authority.certificate, bytes, signature).ok());
  EXPECT_EQ(CheckSignature(other.authority.certificate, bytes, signature).error().code(),
            Code::kPermissionDenied);
  EXPECT_FALSE(
      CheckSignature(made.authority.certificate, AsBytes("who is revokee"), signature).ok());
  EXPECT_FALSE(CheckSignature(made.authority.certificate, bytes, {}).ok());
  for (size_t i = 0; i < signature.size(); ++i) {
    std::vector<uint8_t> damaged = signature;
    damaged[i] ^= 1;
    EXPECT_FALSE(CheckSignature(made.authority.certificate, bytes, damaged).ok()) << i;
  }
  EXPECT_FALSE(Sign("no key", bytes).ok());
  EXPECT_FALSE(CheckSignature("no certificate", bytes, signature).ok());
}

TEST(Proof, DependsOnTheSecretAndTheEndOfEachPart) {
  const std::vector<uint8_t> secret(32, 1);
  const std::vector<uint8_t> other(32, 2);
  using Parts = std::vector<std::string_view>;
  const auto proof = [](const std::vector<uint8_t>& by, const Parts& parts) {
    return ProofOf(by, parts);
  };
  const crypto::Sha256Digest digest = proof(secret, {"ab", "c"});
  EXPECT_EQ(digest, proof(secret, {"ab", "c"}));
  EXPECT_NE(digest, proof(other, {"ab", "c"}));
  for (const Parts& parts :
       {Parts{"a", "bc"}, Parts{"abc"}, Parts{"ab", "c", ""}, Parts{"c", "ab"}})
    EXPECT_NE(digest, proof(secret, parts));
}

}  // namespace
}  // namespace aster::cluster
