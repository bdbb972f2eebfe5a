// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/revocations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cluster/home_for_test.h"

namespace aster::cluster {
namespace {

using ::testing::HasSubstr;

NodeId Node(uint64_t i) { return NodeId{{.low = i, .high = i * 7}}; }

class RevocationsTest : public ::testing::Test {
 protected:
  Revocations ListOf(uint64_t count) const {
    Revocations list;
    for (uint64_t i = 1; i <= count; ++i)
      list = list.With(Node(i), kTestWallS + static_cast<int64_t>(i), made_.authority.key).value();
    return list;
  }
  Result<Revocations> Parse(std::string_view text) const {
    return Revocations::Parse(text, made_.authority.certificate);
  }

  const TestAuthority made_;
};

TEST_F(RevocationsTest, ListsGrowAndComeBackAsTheyWere) {
  EXPECT_EQ(Parse("")->serial(), 0U);
  for (const uint64_t count : {1, 2, 9}) {
    const Revocations list = ListOf(count);
    const Revocations again = Parse(list.text()).value();
    EXPECT_EQ(again.serial(), list.serial());
    EXPECT_GE(again.serial(), count);
    EXPECT_EQ(again.nodes(), list.nodes());
    EXPECT_EQ(again.text(), list.text());
    EXPECT_TRUE(again.Contains(Node(count)));
    EXPECT_FALSE(again.Contains(Node(count + 1)));
  }
}

TEST_F(RevocationsTest, NothingIsBelievedThatTheAuthorityHasNotSigned) {
  const Revocations list = ListOf(2);
  const TestAuthority other;
  EXPECT_EQ(Revocations::Parse(list.text(), other.authority.certificate).error().code(),
            Code::kPermissionDenied);
  // A node of the cluster cannot sign a list either.
  const Identity eve = made_.NodeCalled("eve");
  const Revocations forged = list.With(Node(9), kTestWallS, eve.key).value();
  EXPECT_EQ(Parse(forged.text()).error().code(), Code::kPermissionDenied);
}

TEST_F(RevocationsTest, EveryChangedByteIsNoticed) {
  const std::string text = ListOf(2).text();
  for (size_t i = 0; i < text.size(); ++i) {
    for (const int bit : {0, 1, 4, 7}) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      EXPECT_FALSE(Parse(damaged).ok()) << "byte " << i << " bit " << bit;
    }
    EXPECT_FALSE(Parse(text.substr(0, i)).ok() && i > 0) << "cut to " << i;
  }
  EXPECT_FALSE(Parse(text + "\n").ok());
  EXPECT_FALSE(Parse(text + "node 1\n").ok());
}

TEST_F(RevocationsTest, NodesCannotBeTakenOutOrMovedToAnotherList) {
  const std::string text = ListOf(2).text();
  const size_t first = text.find("node ");
  const size_t second = text.find("node ", first + 1);
  std::string shorter = text;
  shorter.erase(first, second - first);
  EXPECT_FALSE(Parse(shorter).ok());
  // A line twice, and lines in another order, are refused.
  std::string twice = text;
  twice.insert(first, text.substr(first, second - first));
  EXPECT_FALSE(Parse(twice).ok());
  const size_t end = text.find("signature ");
  std::string turned = text.substr(0, first) + text.substr(second, end - second) +
                       text.substr(first, second - first) + text.substr(end);
  EXPECT_FALSE(Parse(turned).ok());
  // The signature of another list.
  const std::string other = ListOf(1).text();
  EXPECT_FALSE(Parse(text.substr(0, end) + other.substr(other.find("signature "))).ok());
  // A list without nodes is refused, because it would replace any list.
  EXPECT_FALSE(Parse("asterism revoked nodes 1\nserial 0\nsignature 00\n").ok());
}

TEST_F(RevocationsTest, ListsAreBounded) {
  std::string text = "asterism revoked nodes 1\nserial 1\n";
  for (uint64_t i = 0; i < Revocations::kMaxNodes + 1; ++i)
    text += "node " + Node(i).value.ToHex() + " 1\n";
  EXPECT_THAT(Parse(text + "signature 00\n").error().message(), HasSubstr("lines"));
}

TEST_F(RevocationsTest, TwoHoldersOfTheKeyComeToOneList) {
  const Revocations both = ListOf(2);
  const Revocations ann = both.With(Node(7), kTestWallS, made_.authority.key).value();
  const Revocations bob = both.With(Node(9), kTestWallS + 1, made_.authority.key).value();
  EXPECT_NE(ann.serial(), bob.serial());
  EXPECT_TRUE(ann.Covers(both));
  EXPECT_FALSE(ann.Covers(bob));
  const Revocations united = ann.MergedWith(bob, made_.authority.key).value();
  const Revocations same = bob.MergedWith(ann, made_.authority.key).value();
  EXPECT_EQ(united.serial(), same.serial());
  EXPECT_EQ(united.nodes(), same.nodes());
  EXPECT_TRUE(united.Covers(ann) && united.Covers(bob));
  EXPECT_GT(united.serial(), std::max(ann.serial(), bob.serial()));
  EXPECT_TRUE(Parse(united.text()).ok());
}

TEST_F(RevocationsTest, AClockBefore1970DoesNoHarm) {
  const Revocations list = Revocations().With(Node(1), -5, made_.authority.key).value();
  EXPECT_TRUE(Parse(list.text()).ok());
}

}  // namespace
}  // namespace aster::cluster
