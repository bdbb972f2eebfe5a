// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/plan_by_ability.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "open/pool_for_test.h"

namespace aster::open {
namespace {

uint32_t LayersOf(const plan::Plan& plan, const char* name) {
  for (const plan::PlanStage& stage : plan.stages) {
    if (stage.node.name == name) return stage.slice.layer_end - stage.slice.layer_begin;
  }
  return 0;
}

TEST(PlanByAbility, ANodeThatHasHalfOfItsRatesGetsHalfAsMuch) {
  const FakePool pool(100'000 * kTestMiB);
  const auto well = PlanByAbility(pool, WantedForTest(), {}).value();
  EXPECT_EQ(LayersOf(well.plan, "b"), 6u);
  const NodeShares shares = {{pool.nodes()[1].node.id, 0.5}};
  const auto slow = PlanByAbility(pool, WantedForTest(), shares).value();
  EXPECT_EQ(LayersOf(slow.plan, "a"), 8u);
  EXPECT_EQ(LayersOf(slow.plan, "b"), 4u);
  // The present plan takes longer with these shares.
  const auto before = PredictByAbility(pool, WantedForTest(), {}, well.plan);
  const auto now = PredictByAbility(pool, WantedForTest(), shares, well.plan);
  ASSERT_TRUE(before && now);
  EXPECT_NEAR(before->prefill_tokens_per_s, well.prefill_tokens_per_s, 1e-6);
  EXPECT_NEAR(now->prefill_tokens_per_s, well.prefill_tokens_per_s / 2, 1e-6);
}

TEST(PlanByAbility, OwnSlicesAreFreedForTheNextPlan) {
  FakePool pool(1400 * kTestMiB);
  pool.Hold(0, {0, 12, true, true}, 1300 * kTestMiB);
  // Layers of another front end stay where they are.
  WantedPlan wanted = WantedForTest();
  EXPECT_EQ(LayersOf(PlanByAbility(pool, wanted, {}).value().plan, "a"), 0u);
  wanted.replaces = true;
  EXPECT_EQ(LayersOf(PlanByAbility(pool, wanted, {}).value().plan, "a"), 6u);
}

TEST(PlanByAbility, WhatNodesTookCountsWhereItIsAskedFor) {
  FakePool pool(100'000 * kTestMiB);
  pool.Took(1, {.end = 12, .head = true, .part = 1, .token = {}, .chunk = {1000, 256, 256}});
  WantedPlan wanted = WantedForTest();
  wanted.requests = {{.prompt_tokens = 2000, .answer_tokens = 20}};
  EXPECT_FALSE(PlanByAbility(pool, wanted, {})->plan.stages.size() == 1);
  wanted.by_times = true;
  EXPECT_EQ(LayersOf(PlanByAbility(pool, wanted, {})->plan, "a"), 12u);
}

TEST(PlanByAbility, OneRequestAtATimeMayHaveAnotherKindOfPlan) {
  const FakePool pool(100'000 * kTestMiB);
  WantedPlan wanted = WantedForTest();
  EXPECT_EQ(PlanByAbility(pool, wanted, {})->plan.stages.size(), 2u);
  // For a short prompt the second half of the layers would arrive too late.
  wanted.requests = {{.prompt_tokens = 20, .answer_tokens = 200}};
  EXPECT_EQ(PlanByAbility(pool, wanted, {})->plan.stages.size(), 1u);
}

// Each of several different requests counts, on the path that suits it: decode nodes compute
// questions themselves, and prefill nodes long texts.
TEST(PlanByAbility, RequestsThatAreUnlikeShareAPlanWithAPathForEach) {
  FakePool pool(100'000 * kTestMiB);
  // One node has a fast memory, the other multiplies fast.
  pool.Give(0, /*multiply_flops_per_s=*/1e12, /*memory_bytes_per_s=*/4e10);
  pool.Give(1, /*multiply_flops_per_s=*/4e12, /*memory_bytes_per_s=*/5e9);
  WantedPlan wanted = WantedForTest();
  wanted.load.kv_row_bytes = 1024;
  const ExpectedRequest question{.prompt_tokens = 20, .answer_tokens = 200};
  const ExpectedRequest text{.prompt_tokens = 16'000, .answer_tokens = 200};
  const auto plan_for = [&](std::vector<ExpectedRequest> requests) {
    wanted.requests = std::move(requests);
    return PlanByAbility(pool, wanted, {}).value();
  };
  const plan::SplitPlan of_question = plan_for({question}), of_text = plan_for({text});
  EXPECT_TRUE(of_question.plan.decode.empty());
  const plan::SplitPlan mixed = plan_for({question, question, text, text});
  ASSERT_EQ(mixed.plan.decode.size(), 1u);
  EXPECT_EQ(mixed.plan.decode.front().node.name, "a");
  EXPECT_EQ(std::ranges::count_if(mixed.alternatives, &plan::Alternative::is_taken), 1);
  // The best plan for either kind alone is no better for both.
  const double mixed_s = SecondsByAbility(pool, wanted, {}, mixed.plan).value();
  for (const plan::SplitPlan* other : {&of_question, &of_text})
    EXPECT_LE(mixed_s, 1.1 * SecondsByAbility(pool, wanted, {}, other->plan).value());
  EXPECT_LT(mixed_s, SecondsByAbility(pool, wanted, {}, of_question.plan).value() / 1.5);
  // A question takes no longer than on the decode node alone.
  wanted.requests = {question};
  const plan::Plan alone{.stages = mixed.plan.decode, .decode = {}};
  EXPECT_DOUBLE_EQ(SecondsByAbility(pool, wanted, {}, mixed.plan).value(),
                   SecondsByAbility(pool, wanted, {}, alone).value());
  EXPECT_LT(SecondsByAbility(pool, wanted, {}, alone).value(),
            PredictByAbility(pool, wanted, {}, mixed.plan)->request_s);
}

// A node measures what it receives: a link that is slow in one direction is slow in that one only.
TEST(LinksTo, AreOfBytesThatComeToTheNode) {
  const wire::NodeId peer{Hash128{1, 1}}, unmeasured{Hash128{2, 2}}, unplanned{Hash128{3, 3}};
  cluster::NodeStatus status;
  for (const wire::NodeId& node : {peer, unmeasured, unplanned}) {
    cluster::LinkStatus& link = status.links.emplace_back();
    link.peer = node;
    link.round_trip_ns = 2'000'000;
  }
  status.links[0].bytes_per_s = 5e6;
  status.links[2].bytes_per_s = 4e6;
  const auto links = LinksTo(/*place=*/7, status, [&](const wire::NodeId& node) {
    return node == unplanned ? std::nullopt : std::optional(node == peer ? size_t{3} : size_t{4});
  });
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].from, 3u);
  EXPECT_EQ(links[0].to, 7u);
  EXPECT_EQ(links[0].round_trip_s, 0.002);
  EXPECT_EQ(links[0].bytes_per_s, 5e6);
  // It counts as the slowest measured one.
  EXPECT_EQ(links[1].from, 4u);
  EXPECT_EQ(links[1].bytes_per_s, 4e6);
}

}  // namespace
}  // namespace aster::open
