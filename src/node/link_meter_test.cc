// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/link_meter.h"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace aster::node
