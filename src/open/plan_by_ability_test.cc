// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/plan_by_ability.h"

#include <gtest/gtest.h>

#include <utility>

namespace aster::open {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Two nodes alike.
class FakePool final : public NodePool {
 public:
  explicit FakePool(uint64_t memory_bytes) {
    for (uint64_t i = 1; i <= 2; ++i) {
      nodes_.push_back(
          {.node = {.id = {Hash128{i, i}}, .name = i == 1 ? "a" : "b", .addresses = {}},
           .memory_bytes = memory_bytes,
           .multiply_flops_per_s = 1e12,
           .memory_bytes_per_s = 1e10});
      links_.push_back({i - 1, 2 - i, 1e-4, 1e9});
    }
  }
  // The node has this number of the layers already, in memory that is taken.
  void Hold(size_t node, model::Slice slice, uint64_t bytes) {
    shared_.push_back({.node = nodes_[node].node.id, .slice = slice, .bytes = bytes});
    nodes_[node].memory_bytes -= bytes;
  }

  bool wants_all() const override { return false; }
  net::Credentials Credentials() const override { return {}; }
  Status Refresh(std::span<const wire::NodeId>, const Status&) override { return Ok(); }
};

WantedPlan Wanted() {
  WantedPlan wanted;
  wanted.load.layers.resize(12, {100 * kMiB, 1e8});
  wanted.load.embedding_bytes = wanted.load.head_bytes = 20 * kMiB;
  wanted.load.flops_per_layer = 2e8;
  wanted.load.row_bytes = 16384;
  wanted.load.context = 4096;
  return wanted;
}

uint32_t LayersOf(const plan::Plan& plan, const char* name) {
  for (const plan::PlanStage& stage : plan.stages) {
    if (stage.node.name == name) return stage.slice.layer_end - stage.slice.layer_begin;
  }
  return 0;
}

TEST(PlanByAbility, ANodeThatHasHalfOfItsRatesGetsHalfAsMuch) {
  const FakePool pool(100'000 * kMiB);
  const auto well = PlanByAbility(pool, Wanted(), {}).value();
  EXPECT_EQ(LayersOf(well.plan, "b"), 6u);
  const NodeShares shares = {{pool.nodes()[1].node.id, 0.5}};
  const auto slow = PlanByAbility(pool, Wanted(), shares).value();
  EXPECT_EQ(LayersOf(slow.plan, "a"), 8u);
  EXPECT_EQ(LayersOf(slow.plan, "b"), 4u);
  // The plan that is there takes longer by it.
  const auto before = PredictByAbility(pool, Wanted(), {}, well.plan);
  const auto now = PredictByAbility(pool, Wanted(), shares, well.plan);
  ASSERT_TRUE(before && now);
  EXPECT_NEAR(before->prefill_tokens_per_s, well.prefill_tokens_per_s, 1e-6);
  EXPECT_NEAR(now->prefill_tokens_per_s, well.prefill_tokens_per_s / 2, 1e-6);
}

TEST(PlanByAbility, OwnSlicesGiveWayToTheNextPlan) {
  FakePool pool(1400 * kMiB);
  pool.Hold(0, {0, 12, true, true}, 1300 * kMiB);
  // Layers of another front end stay where they are.
  WantedPlan wanted = Wanted();
  EXPECT_EQ(LayersOf(PlanByAbility(pool, wanted, {}).value().plan, "a"), 0u);
  wanted.replaces = true;
  EXPECT_EQ(LayersOf(PlanByAbility(pool, wanted, {}).value().plan, "a"), 6u);
}

TEST(PlanByAbility, OneRequestAtATimeMayHaveAnotherKindOfPlan) {
  const FakePool pool(100'000 * kMiB);
  WantedPlan wanted = Wanted();
  EXPECT_EQ(PlanByAbility(pool, wanted, {})->plan.stages.size(), 2u);
  // The second half of the layers comes too late for a short prompt.
  wanted.request = {.prompt_tokens = 20, .answer_tokens = 200};
  EXPECT_EQ(PlanByAbility(pool, wanted, {})->plan.stages.size(), 1u);
}

}  // namespace
}  // namespace aster::open
