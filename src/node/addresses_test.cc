// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/member.h"

namespace aster::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST(ParseListen, TheDataPlaneTakesTheNextPort) {
  const auto listen = ParseListen("192.168.0.7:9000");
  ASSERT_TRUE(listen.ok());
  EXPECT_EQ(listen->control, "192.168.0.7:9000");
  EXPECT_EQ(listen->data, "192.168.0.7:9001");
}

TEST(ParseListen, HostsAndPortsMayBeLeftOut) {
  EXPECT_EQ(ParseListen("0.0.0.0")->control, "0.0.0.0:7424");
  EXPECT_EQ(ParseListen("0.0.0.0")->data, "0.0.0.0:7425");
  EXPECT_EQ(ParseListen(":9000")->control, "0.0.0.0:9000");
  EXPECT_EQ(ParseListen("[::1]:9000")->data, "[::1]:9001");
}

TEST(ParseListen, AnyPortIsAnyPortForBoth) {
  EXPECT_EQ(ParseListen("127.0.0.1:0")->control, "127.0.0.1:0");
  EXPECT_EQ(ParseListen("127.0.0.1:0")->data, "127.0.0.1:0");
}

TEST(ParseListen, RefusesWhatIsNoAddress) {
  for (const char* text : {"", "a b:1", "host:", "host:70000", "host:-1", "::1:9000:", "x:65535"})
    EXPECT_FALSE(ParseListen(text).ok()) << text;
}

TEST(ReachableAt, AHostOfItsOwnIsTold) {
  EXPECT_THAT(*ReachableAt("127.0.0.1:9000", ""), ElementsAre("127.0.0.1:9000"));
  EXPECT_THAT(*ReachableAt("0.0.0.0:9000", "desk.lan"), ElementsAre("desk.lan:9000"));
}

TEST(ReachableAt, AnyHostBecomesThoseOfTheInterfaces) {
  for (const char* any : {"0.0.0.0:9000", "[::]:9000"}) {
    const auto addresses = ReachableAt(any, "");
    ASSERT_TRUE(addresses.ok());
    ASSERT_THAT(*addresses, Not(SizeIs(0)));
    EXPECT_LE(addresses->size(), cluster::kMaxAddresses);
    for (const std::string& address : *addresses) {
      EXPECT_THAT(address, HasSubstr(":9000"));
      EXPECT_TRUE(cluster::ParseHostPort(address).ok()) << address;
      EXPECT_NE(address, any);
    }
  }
}

}  // namespace
}  // namespace aster::node
