// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/handshake.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/frame.h"

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
  EXPECT_EQ(CheckHello(Self(kAnn), hello, std::nullopt, kBob).value(), wire::kNewestProtocol);
  EXPECT_EQ(CheckHello(Self(kAnn), hello, kBob, kBob).value(), wire::kNewestProtocol);
  EXPECT_EQ(CheckHello(Self(kAnn), hello, kBob, std::nullopt).value(), wire::kNewestProtocol);
}

TEST(Handshake, ThePasswordIsNeededWhereNoCertificateSpeaks) {
  wire::Hello hello = MakeHello(Self(kBob));
  hello.password[31] = 0;
  EXPECT_THAT(RefusalOf(hello), HasSubstr("wrong password"));
  EXPECT_EQ(RefusalOf(hello, kBob), "");
  hello.password.clear();
  EXPECT_THAT(RefusalOf(hello), HasSubstr("wrong password"));
  // A node with certificates has no password, and refuses peers without a certificate.
  Introduction strict = Self(kAnn);
  strict.password.clear();
  EXPECT_FALSE(CheckHello(strict, hello, std::nullopt, std::nullopt).ok());
}

TEST(Handshake, NoNodeCanTakeAnothersName) {
  EXPECT_THAT(RefusalOf(MakeHello(Self(kBob)), NodeId{{1, 1}}),
              HasSubstr("says that it is node bbbbbbbb, and its certificate says 00000000"));
  EXPECT_THAT(RefusalOf(MakeHello(Self(kBob)), kBob, kAnn),
              HasSubstr("node bbbbbbbb is there, where aaaaaaaa was expected"));
  EXPECT_THAT(RefusalOf(MakeHello(Self(kAnn))), HasSubstr("this node's own identity"));
}

TEST(Handshake, RefusalsNameBothSides) {
  wire::Hello hello = MakeHello(Self(kBob));
  hello.oldest_protocol = 103;
  hello.newest_protocol = 104;
  EXPECT_THAT(
      RefusalOf(hello),
      HasSubstr(fmt::format("aaaaaaaa speaks protocols 1 to {}, node bbbbbbbb speaks 103 to 104",
                            wire::kNewestProtocol)));
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

// --- Front ends, which share a machine's certificate with its node.

Introduction Instance(const NodeId& machine, uint8_t fill) {
  Introduction instance = Self(machine);
  instance.instance.assign(kInstanceBytes, fill);
  instance.node = InstanceOf(machine, instance.instance);
  instance.password.clear();
  return instance;
}

TEST(Handshake, AnInstanceGoesByTheNameThatFollowsFromItsCertificate) {
  const wire::Hello hello = MakeHello(Instance(kBob, 1));
  EXPECT_NE(hello.node, kBob);
  EXPECT_EQ(RefusalOf(hello, kBob), "");
  EXPECT_EQ(RefusalOf(hello, kBob, hello.node), "");
  EXPECT_THAT(RefusalOf(hello, kBob, kBob), HasSubstr("its address has changed"));
  // The node of the same machine is another peer.
  const wire::Hello own = MakeHello(Instance(kAnn, 1));
  EXPECT_EQ(RefusalOf(own, kAnn), "");
  EXPECT_EQ(CheckHello(Instance(kAnn, 2), own, kAnn, std::nullopt).value(), wire::kNewestProtocol);
  EXPECT_THAT(CheckHello(Instance(kAnn, 1), own, kAnn, std::nullopt).error().message(),
              HasSubstr("this node's own identity"));
}

TEST(Handshake, NoNodeCanTakeAnInstancesName) {
  // The same bytes with another certificate, no bytes, other bytes, too few, and no certificate.
  const wire::Hello good = MakeHello(Instance(kBob, 1));
  EXPECT_THAT(RefusalOf(good, NodeId{{1, 1}}), HasSubstr("and its certificate says"));
  wire::Hello hello = good;
  hello.instance.clear();
  EXPECT_THAT(RefusalOf(hello, kBob), HasSubstr("its certificate says bbbbbbbb"));
  hello.instance.assign(kInstanceBytes, 2);
  EXPECT_THAT(RefusalOf(hello, kBob), HasSubstr("its certificate says"));
  for (const size_t bytes : {1U, 15U, 17U, 64U}) {
    hello.instance.assign(bytes, 1);
    hello.node = InstanceOf(kBob, hello.instance);
    EXPECT_THAT(RefusalOf(hello, kBob), HasSubstr("bytes where 16 are expected"));
  }
  // Nor can a node use its bytes with the machine's own identity.
  hello = good;
  hello.node = kBob;
  EXPECT_THAT(RefusalOf(hello, kBob), HasSubstr("says that it is node bbbbbbbb"));
  hello.password = Self(kAnn).password;
  EXPECT_THAT(RefusalOf(hello), HasSubstr("0 are expected without certificates"));
}

TEST(Handshake, AnInstanceNeedsTheSecondProtocolAndANodeDoesNot) {
  wire::Hello old = MakeHello(Self(kBob));
  old.newest_protocol = 1;
  EXPECT_EQ(CheckHello(Self(kAnn), old, kBob, kBob).value(), 1);
  EXPECT_THAT(CheckHello(Instance(kAnn, 1), old, kBob, kBob).error().message(),
              HasSubstr("bbbbbbbb speaks protocols up to 1, in which only nodes talk"));
}

TEST(Handshake, AnInstanceIsTheHashOfItsMachineAndItsBytes) {
  // Computed by another program: sha256 of 00 01 ... 1f.
  const NodeId machine{{.low = 0x08090a0b0c0d0e0f, .high = 0x0001020304050607}};
  std::vector<uint8_t> bytes;
  for (uint8_t i = 16; i < 32; ++i) bytes.push_back(i);
  EXPECT_EQ(InstanceOf(machine, bytes).value.ToHex(), "630dcd2966c4336691125448bbb25b4f");
}

}  // namespace
}  // namespace aster::net
