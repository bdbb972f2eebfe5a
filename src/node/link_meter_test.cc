// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/link_meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "net/socket.h"
#include "rpc/rpc_for_test.h"

namespace aster::node {
namespace {

cluster::Member Living(uint64_t number) {
  cluster::Member member;
  member.node = {{.low = number, .high = 3}};
  member.state = cluster::MemberState::kAlive;
  return member;
}

// As the node `self` of `count` sees them: itself first.
std::vector<cluster::Member> SeenBy(uint64_t self, uint64_t count) {
  std::vector<cluster::Member> members = {Living(self)};
  for (uint64_t i = 0; i < count; ++i) {
    if (i != self) members.push_back(Living(i));
  }
  return members;
}

TEST(LinkMeter, RatesOfAFewNodesAreMeasuredHoweverManyThereAre) {
  std::map<cluster::NodeId, int> asked;
  for (uint64_t self = 0; self < 32; ++self) {
    const auto sampled = SampledPeers(SeenBy(self, 32), 8);
    EXPECT_EQ(sampled.size(), 8u);
    EXPECT_FALSE(sampled.contains(Living(self).node));
    for (const cluster::NodeId& node : sampled) ++asked[node];
  }
  ASSERT_EQ(asked.size(), 32u);
  for (const auto& [node, times] : asked) EXPECT_EQ(times, 8);
}

TEST(LinkMeter, InASmallClusterAllThatLiveAreMeasured) {
  std::vector<cluster::Member> members = SeenBy(2, 5);
  EXPECT_EQ(SampledPeers(members, 8).size(), 4u);
  members.back().state = cluster::MemberState::kDead;
  EXPECT_EQ(SampledPeers(members, 8).size(), 3u);
  EXPECT_TRUE(SampledPeers({}, 8).empty());
}

// The system accepts connections of a process that stands still; when it goes on, its link is not a
// slow one.
TEST(LinkMeter, ANodeThatStandsStillHasNoRate) {
  const auto address = net::Resolve(net::ParseHostPort("127.0.0.1:0").value())->front();
  const net::Socket silent = net::Listen(address).value();
  const cluster::Identity identity = rpc::ClusterForTest().NewNode("desk");
  std::vector<cluster::Member> members = {Living(1), Living(2)};
  members[1].control_addresses = {net::LocalEndpoint(silent)->ToText()};
  std::atomic<int> looks = 0;
  const auto rates = std::make_shared<net::PathRates>();
  SystemClock clock;
  LinkMeter meter(identity,
                  [&] {
                    ++looks;
                    return members;
                  },
                  rates, clock, {.measure_ns = 100 * kNsPerMs});
  ASSERT_TRUE(meter.Start().ok());
  // The second look begins when the first one has measured.
  while (looks < 2) clock.SleepFor(10 * kNsPerMs);
  EXPECT_EQ(rates->Of("127.0.0.1"), 0);
  EXPECT_EQ(meter.Of(members[1].node).bytes_per_s, 0);
}

}  // namespace
}  // namespace aster::node
