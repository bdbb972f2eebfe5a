// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aster::net {
namespace {

using ::testing::HasSubstr;
using wire::NodeId;

constexpr NodeId kAnn{{0, 0xaaaaaaaa00000000}};
constexpr NodeId kBob{{0, 0xbbbbbbbb00000000}};

Introduction Self(const NodeId& node) {
  return {.node = node,
          .name = "n",
          .arithmetic = 3,
          .max_frame_bytes = 1 << 20,
          .credit_bytes = 1 << 20,
          .password = std::vector<uint8_t>(32, 7)};
}

std::string RefusalOf(const wire::Hello& hello, const std::optional<NodeId>& proven = std::nullopt,
                      const std::optional<NodeId>& expected = std::nullopt) {
  const Result<uint16_t> version = CheckHello(Self(kAnn), hello, proven, expected);
  return version.ok() ? "" : version.error().message();
}

TEST(Handshake, NodesThatFitTalk) {
  const wire::Hello hello = MakeHello(Self(kBob));
  EXPECT_EQ(CheckHello(Self(kAnn), hello, std::nullopt, kBob).value(), 1);
  EXPECT_EQ(CheckHello(Self(kAnn), hello, kBob, kBob).value(), 1);
  EXPECT_EQ(CheckHello(Self(kAnn), hello, kBob, std::nullopt).value(), 1);
}

TEST(Handshake, ThePasswordIsNeededWhereNoCertificateSpeaks) {
  wire::Hello hello = MakeHello(Self(kBob));
  hello.password[31] = 0;
  EXPECT_THAT(RefusalOf(hello), HasSubstr("wrong password"));
  EXPECT_EQ(RefusalOf(hello, kBob), "");
  hello.password.clear();
  EXPECT_THAT(RefusalOf(hello), HasSubstr("wrong password"));
  // A node with certificates has none, and takes nobody without.
  Introduction strict = Self(kAnn);
  strict.password.clear();
  EXPECT_FALSE(CheckHello(strict, hello, std::nullopt, std::nullopt).ok());
}

TEST(Handshake, NobodyTakesAnothersName) {
  EXPECT_THAT(RefusalOf(MakeHello(Self(kBob)), NodeId{{1, 1}}),
              HasSubstr("says that it is node bbbbbbbb, and its certificate says 00000000"));
  EXPECT_THAT(RefusalOf(MakeHello(Self(kBob)), kBob, kAnn),
              HasSubstr("node bbbbbbbb is there, where aaaaaaaa was expected"));
  EXPECT_THAT(RefusalOf(MakeHello(Self(kAnn))), HasSubstr("this node's own identity"));
}

TEST(Handshake, RefusalsNameBothSides) {
  wire::Hello hello = MakeHello(Self(kBob));
  hello.oldest_protocol = 2;
  hello.newest_protocol = 4;
  EXPECT_THAT(RefusalOf(hello),
              HasSubstr("aaaaaaaa speaks protocols 1 to 1, node bbbbbbbb speaks 2 to 4"));
  hello.oldest_protocol = 0;
  hello.newest_protocol = 0;
  EXPECT_THAT(RefusalOf(hello), HasSubstr("speaks 0 to 0"));
  hello = MakeHello(Self(kBob));
  hello.arithmetic = 4;
  EXPECT_THAT(RefusalOf(hello), HasSubstr("with arithmetic 3, node bbbbbbbb with 4"));
  hello = MakeHello(Self(kBob));
  hello.credit_bytes = 10;
  EXPECT_THAT(RefusalOf(hello), HasSubstr("10 at once, where 65536 are needed"));
}

}  // namespace
}  // namespace aster::net
