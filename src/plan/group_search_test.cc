// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/group_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"

namespace aster::plan {
namespace {

using testing::ElementsAre;

// Nodes that read `rates` bytes/s, on links where a message takes `message_s`.
GroupProblem Problem(const std::vector<double>& rates, double message_s = 1e-5) {
  GroupProblem problem{.heads = 8,
                       .by_heads = 0.25,
                       .bytes = 1000,
                       .whole_bytes = 100,
                       .layer_reads = 1e9,
                       .head_reads = 1e8,
                       .gathers = 66,
                       .gathered_bytes = 1'000'000,
                       .chunk_tokens = 256};
  for (const double rate : rates)
    problem.nodes.push_back({.memory_bytes = 10'000, .token_byte_s = 1 / rate, .chunk_s = 1});
  problem.links.assign(rates.size() * rates.size(), {.message_s = message_s, .byte_s = 1e-10});
  return problem;
}

TEST(SearchGroup, TwoAlikeShareAlike) {
  const auto answer = SearchGroup(Problem({1e10, 1e10}));
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->nodes, ElementsAre(0, 1));
  EXPECT_THAT(answer->shares, ElementsAre(1, 1));
  const double exchange_s = 66 * (1e-5 + kGatherOverheadS) + 0.5e6 * 1e-10;
  EXPECT_DOUBLE_EQ(answer->exchange_s, exchange_s);
  EXPECT_DOUBLE_EQ(answer->token_s, 0.55e9 / 1e10 + exchange_s);
}

TEST(SearchGroup, TheFasterNodeIsTheLeaderAndHasMore) {
  const auto answer = SearchGroup(Problem({1e10, 3e10}));
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->nodes, ElementsAre(1, 0));
  EXPECT_THAT(answer->shares, ElementsAre(3, 1));
}

TEST(SearchGroup, WhatIsOnEveryNodeIsNotDivided) {
  GroupProblem problem = Problem({1e10, 1e10});
  problem.whole = 0.2;
  const auto answer = SearchGroup(problem);
  ASSERT_TRUE(answer);
  EXPECT_DOUBLE_EQ(answer->token_s, (0.6e9 + 0.5e8) / 1e10 + answer->exchange_s);
}

// Half of what a token reads are experts, eight of 128.
GroupProblem ProblemOfExperts(const std::vector<double>& rates, double message_s = 1e-5) {
  GroupProblem problem = Problem(rates, message_s);
  problem.experts = {.count = 128,
                     .used = 8,
                     .reads = 0.5,
                     .bytes = 600,
                     .gathers = 50,
                     .gathered_bytes = 400'000,
                     .sum_bytes = 300'000};
  return problem;
}

constexpr size_t kBoth[] = {0, 1};
constexpr uint32_t kAlike[] = {1, 1};
constexpr GroupForm kOwners = {.owns_experts = true};

TEST(SearchOwners, AllWaitForTheOneThatHasMostOfATokensExperts) {
  const GroupProblem problem = ProblemOfExperts({1e10, 1e10});
  const auto answer = GroupWith(problem, kBoth, kAlike, kOwners);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->form, kOwners);
  // The nodes exchange the columns of one node and its sums.
  const double exchange_s = 50 * (1e-5 + kGatherOverheadS) + 0.5e6 * 1e-10;
  EXPECT_DOUBLE_EQ(answer->exchange_s, exchange_s);
  // Of eight random experts the busier node has 5.1 on average.
  const double reads = 0.25e9 + 5.1 / 8 * 0.5e9 + 0.5e8;
  EXPECT_NEAR(answer->token_s - exchange_s, reads / 1e10, 0.01 * reads / 1e10);
  // With many tokens the loads become equal.
  EXPECT_NEAR(answer->chunk_s - answer->chunk_exchange_s, 0.5, 0.02);
  // With all experts on both nodes the load is even, and the same as with rows.
  const auto both = GroupWith(problem, kBoth, kAlike, {.owns_experts = true, .replicas = 128});
  EXPECT_NEAR(both->token_s - exchange_s, 0.55e9 / 1e10, 1e-6);
}

TEST(SearchOwners, AsManyOnAllNodesAsBringSomething) {
  GroupProblem problem = ProblemOfExperts({1e10, 1e10});
  const auto none = GroupWith(problem, kBoth, kAlike, kOwners);
  const auto answer = SearchOwners(problem, kBoth, kAlike);
  ASSERT_TRUE(answer);
  EXPECT_GT(answer->form.replicas, 0u);
  EXPECT_LT(answer->token_s, 0.98 * none->token_s);
  // Experts take memory: the halves of 400 and 600 on each, and 100 that every node has.
  EXPECT_DOUBLE_EQ(MemberBytes(problem, kAlike, kOwners, 0), 600);
  EXPECT_DOUBLE_EQ(MemberBytes(problem, kAlike, {.owns_experts = true, .replicas = 32}, 0), 675);
  for (GroupProblem::Node& node : problem.nodes) node.memory_bytes = 600;
  EXPECT_EQ(SearchOwners(problem, kBoth, kAlike)->form.replicas, 0u);
  problem.nodes[1].memory_bytes = 599;
  EXPECT_FALSE(SearchOwners(problem, kBoth, kAlike));
}

TEST(SearchOwners, InProportionToTheirShares) {
  const GroupProblem problem = ProblemOfExperts({3e10, 1e10});
  constexpr uint32_t kShares[] = {3, 1};
  const auto owners = GroupWith(problem, kBoth, kShares, kOwners);
  const auto rows = GroupWith(problem, kBoth, kShares);
  EXPECT_NEAR(owners->chunk_s - owners->chunk_exchange_s, rows->chunk_s - rows->chunk_exchange_s,
              0.02);
  EXPECT_DOUBLE_EQ(MemberBytes(problem, kShares, kOwners, 1), 100 + 100 + 150);
}

TEST(SearchOwners, NothingWhereNoneMayBeOwned) {
  GroupProblem problem = ProblemOfExperts({1e10, 1e10});
  problem.nodes[1].may_own_experts = false;
  EXPECT_FALSE(SearchOwners(problem, kBoth, kAlike));
  EXPECT_FALSE(SearchOwners(Problem({1e10, 1e10}), kBoth, kAlike));
  EXPECT_FALSE(GroupWith(Problem({1e10, 1e10}), kBoth, kAlike, kOwners));
  problem = ProblemOfExperts({1e10, 1e10}, 0);
  EXPECT_FALSE(SearchOwners(problem, kBoth, kAlike));
}

TEST(SearchGroup, ANodeThatIsInTheWayIsLeftOut) {
  // With an eighth of the heads the slow node would take longer than the others need for all.
  EXPECT_THAT(SearchGroup(Problem({1e10, 1e10, 1e8}))->nodes, ElementsAre(0, 1));
  // One node is far away.
  GroupProblem far = Problem({1e10, 1e10, 1e10});
  for (size_t node = 0; node < 2; ++node)
    far.links[node * 3 + 2].message_s = far.links[2 * 3 + node].message_s = 0.01;
  EXPECT_THAT(SearchGroup(far)->nodes, ElementsAre(0, 1));
  // The link of one node is unknown.
  GroupProblem unknown = Problem({1e10, 1e10, 1e10});
  unknown.links[0 * 3 + 1].message_s = 0;
  EXPECT_THAT(SearchGroup(unknown)->nodes, ElementsAre(0, 2));
}

TEST(SearchGroup, NoMoreNodesThanHeadsAndThanMemoryAllows) {
  GroupProblem problem = Problem({1e10, 1e10, 1e10, 1e10});
  EXPECT_EQ(SearchGroup(problem)->nodes.size(), 4u);
  problem.heads = 2;
  EXPECT_EQ(SearchGroup(problem)->nodes.size(), 2u);
  // Half of the divided memory and the whole memory do not fit; a fourth does.
  problem.heads = 8;
  for (GroupProblem::Node& node : problem.nodes) node.memory_bytes = 350;
  EXPECT_EQ(SearchGroup(problem)->nodes.size(), 4u);
  for (GroupProblem::Node& node : problem.nodes) node.memory_bytes = 349;
  EXPECT_FALSE(SearchGroup(problem));
}

TEST(SearchGroup, NothingOfOneNodeOrOneHead) {
  EXPECT_FALSE(SearchGroup(Problem({})));
  EXPECT_FALSE(SearchGroup(Problem({1e10})));
  GroupProblem problem = Problem({1e10, 1e10});
  problem.heads = 1;
  EXPECT_FALSE(SearchGroup(problem));
}

// Every part has heads, memory suffices, and more nodes of a kind never make it slower.
TEST(SearchGroup, AnswersCanBeComputed) {
  Random random(7);
  const auto between = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random.NextBelow(1000)) / 1000;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<double> rates(2 + random.NextBelow(10));
    for (double& rate : rates) rate = between(1e9, 2e10);
    GroupProblem problem = Problem(rates, between(1e-6, 1e-3));
    problem.heads = static_cast<uint32_t>(2 + random.NextBelow(15));
    for (GroupProblem::Node& node : problem.nodes)
      node.memory_bytes = static_cast<uint64_t>(between(100, 1500));
    const auto answer = SearchGroup(problem);
    if (!answer) continue;
    ASSERT_EQ(answer->nodes.size(), answer->shares.size());
    ASSERT_LE(answer->nodes.size(), problem.heads);
    const auto all = std::accumulate(answer->shares.begin(), answer->shares.end(), 0u);
    for (size_t i = 0; i < answer->nodes.size(); ++i) {
      const double bytes = 1000.0 * answer->shares[i] / all;
      EXPECT_LE(100 + bytes, problem.nodes[answer->nodes[i]].memory_bytes);
    }
    // With links that take no time it is not slower.
    for (GroupProblem::Link& link : problem.links) link = {.message_s = 1e-9, .byte_s = 0};
    EXPECT_LE(SearchGroup(problem)->token_s, answer->token_s);
  }
}

}  // namespace
}  // namespace aster::plan
