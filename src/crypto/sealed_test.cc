// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "crypto/sealed.h"

#include <gtest/gtest.h>

#include <string_view>

namespace aster::crypto {
namespace {

constexpr std::string_view kContent = "what only the owner should read";
constexpr std::string_view kContext = "of this cluster";

SealingKey KeyOf(std::string_view text) { return Sha256Of(AsBytes(text)); }

TEST(Sealed, ComesBackAsItWas) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{16}, kContent.size()}) {
    const std::string_view content = kContent.substr(0, size);
    const auto sealed = Seal(KeyOf("a"), AsBytes(content), AsBytes(kContext)).value();
    EXPECT_EQ(AsText(sealed).find("owner"), std::string_view::npos);
    const auto opened = Unseal(KeyOf("a"), sealed, AsBytes(kContext));
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    EXPECT_EQ(AsText(*opened), content);
  }
}

TEST(Sealed, TwiceTheSameLooksDifferent) {
  EXPECT_NE(Seal(KeyOf("a"), AsBytes(kContent), {}).value(),
            Seal(KeyOf("a"), AsBytes(kContent), {}).value());
}

TEST(Sealed, AnotherKeyContextOrByteIsNoticed) {
  const auto sealed = Seal(KeyOf("a"), AsBytes(kContent), AsBytes(kContext)).value();
  const auto refuses = [&](std::string_view key, Bytes bytes, std::string_view context) {
    const auto opened = Unseal(KeyOf(key), bytes, AsBytes(context));
    return !opened.ok() && opened.error().code() == Code::kPermissionDenied;
  };
  EXPECT_TRUE(refuses("b", sealed, kContext));
  EXPECT_TRUE(refuses("a", sealed, "of another"));
  EXPECT_TRUE(refuses("a", sealed, ""));
  for (size_t i = 0; i < sealed.size(); ++i) {
    auto damaged = sealed;
    damaged[i] ^= 1;
    EXPECT_TRUE(refuses("a", damaged, kContext)) << "byte " << i;
    EXPECT_TRUE(refuses("a", Bytes(sealed).first(i), kContext)) << "cut to " << i;
  }
}

}  // namespace
}  // namespace aster::crypto
