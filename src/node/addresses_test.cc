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
  EXPECT_THAT(listen->control, ElementsAre("192.168.0.7:9000"));
  EXPECT_THAT(listen->data, ElementsAre("192.168.0.7:9001"));
}

TEST(ParseListen, HostsAndPortsMayBeLeftOut) {
  EXPECT_THAT(ParseListen("0.0.0.0")->control, ElementsAre("0.0.0.0:7424"));
  EXPECT_THAT(ParseListen("0.0.0.0")->data, ElementsAre("0.0.0.0:7425"));
  EXPECT_THAT(ParseListen("[::1]:9000")->data, ElementsAre("[::1]:9001"));
}

// The data port was listened on with IPv4 only.
TEST(ParseListen, WithoutAHostBothFamiliesAreListenedOnByBothPlanes) {
  const auto listen = ParseListen(":9000").value();
  EXPECT_EQ(listen.control.front(), "0.0.0.0:9000");
  EXPECT_EQ(listen.data.front(), "0.0.0.0:9001");
  ASSERT_EQ(listen.control.size(), listen.data.size());
  if (listen.control.size() == 1) GTEST_SKIP() << "this system has no IPv6";
  EXPECT_EQ(listen.control.back(), "[::]:9000");
  EXPECT_EQ(listen.data.back(), "[::]:9001");
}

TEST(ParseListen, AnyPortIsAnyPortForBoth) {
  EXPECT_THAT(ParseListen("127.0.0.1:0")->control, ElementsAre("127.0.0.1:0"));
  EXPECT_THAT(ParseListen("127.0.0.1:0")->data, ElementsAre("127.0.0.1:0"));
}

TEST(ParseListen, RefusesWhatIsNoAddress) {
  for (const char* text : {"", "a b:1", "host:", "host:70000", "host:-1", "::1:9000:", "x:65535"})
    EXPECT_FALSE(ParseListen(text).ok()) << text;
}

TEST(ReachableAt, AHostOfItsOwnIsAnnounced) {
  EXPECT_THAT(*ReachableAt({"127.0.0.1:9000"}, ""), ElementsAre("127.0.0.1:9000"));
  EXPECT_THAT(*ReachableAt({"0.0.0.0:9000", "[::]:9000"}, "desk.lan"),
              ElementsAre("desk.lan:9000"));
}

TEST(ReachableAt, AnyHostBecomesThoseOfTheInterfaces) {
  const auto addresses = ReachableAt({"0.0.0.0:9000", "[::]:9000"}, "");
  ASSERT_TRUE(addresses.ok());
  ASSERT_THAT(*addresses, Not(SizeIs(0)));
  EXPECT_LE(addresses->size(), cluster::kMaxAddresses);
  for (const std::string& address : *addresses) {
    EXPECT_THAT(address, HasSubstr(":9000"));
    EXPECT_TRUE(cluster::ParseHostPort(address).ok()) << address;
    EXPECT_THAT(address, Not(testing::AnyOf("0.0.0.0:9000", "[::]:9000")));
  }
}

// `invite` printed 127.0.0.1 there.
TEST(ChooseHosts, OnAMachineWithIpv6AloneLoopbackIsNotAnnounced) {
  using addresses_internal::ChooseHosts;
  const std::vector<addresses_internal::InterfaceHost> only_v6 = {
      {"127.0.0.1", true}, {"::1", true}, {"2001:db8::7", false}};
  EXPECT_THAT(ChooseHosts(only_v6, false), SizeIs(0));
  EXPECT_THAT(ChooseHosts(only_v6, true), ElementsAre("2001:db8::7"));
  const std::vector<addresses_internal::InterfaceHost> alone = {{"127.0.0.1", true}, {"::1", true}};
  EXPECT_THAT(ChooseHosts(alone, false), ElementsAre("127.0.0.1"));
  EXPECT_THAT(ChooseHosts(alone, true), ElementsAre("::1"));
}

}  // namespace
}  // namespace aster::node
