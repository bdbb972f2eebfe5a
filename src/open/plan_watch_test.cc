// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/plan_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "base/check.h"
#include "open/pool_for_test.h"

namespace aster::open {
namespace {

using testing::HasSubstr;

// Groups can compute its layers.
WantedPlan WantedWithGroups() {
  WantedPlan wanted = WantedForTest();
  wanted.load.together = {
      .heads = 8, .by_heads = 0.25, .gathered_bytes = 60'000, .logit_bytes = 500'000};
  return wanted;
}

// A model that is served on two nodes, as a watch sees it.
class WatchedModel final : public OpenedModel {
 public:
  struct Change {
    std::vector<ExpectedRequest> usual_requests;
    std::string why;
  };

  // `memory_bytes`: of the other node, if one is drained.
  explicit WatchedModel(std::vector<ExpectedRequest> usual_requests, bool is_drained = false,
                        uint64_t memory_bytes = 100'000 * kTestMiB)
      : is_drained_(is_drained), memory_bytes_(memory_bytes) {
    const FakePool pool(100'000 * kTestMiB);
    now_.plan = PlanByAbility(pool, WantedWithGroups(), {})->plan;
    now_.usual_requests = std::move(usual_requests);
    now_.follows = !is_drained;
  }

  engine::Generator& generator() override {
    CheckFailed(__FILE__, __LINE__, "a watch", "computes nothing");
  }
  uint32_t capacity_tokens() const override { return 0; }
  MemoryFigures memory() const override { return {}; }
  std::optional<RouteNow> route_now() const override { return now_; }
  Status Rebalance(const NodePool&, NodeShares, std::vector<ExpectedRequest> usual_requests,
                   const std::string& why) override {
    changed.set_value({std::move(usual_requests), why});
    steps.push_back("rebalanced");
    return Ok();
  }
  void Leave(std::span<const wire::NodeId> nodes) override {
    for (const wire::NodeId& node : nodes) steps.push_back("left " + node.ToText());
    left.set_value();
  }
  Result<PlanWatchPool> MakePlanWatchPool() const override {
    auto pool = std::make_unique<FakePool>(memory_bytes_);
    if (is_drained_) pool->Drain(1);
    PlanWatchPool watch_pool{.pool = std::move(pool), .wanted = WantedWithGroups()};
    watch_pool.wanted.replaces = true;
    return watch_pool;
  }

  const plan::Plan& plan() const { return now_.plan; }
  std::promise<Change> changed;
  std::promise<void> left;
  std::vector<std::string> steps;  // of the watch's thread, until it has left

 private:
  const bool is_drained_;
  const uint64_t memory_bytes_;
  RouteNow now_;
};

// A pipeline is best for several requests. Short ones that come one at a time are answered sooner
// by another kind of plan, and some looks later that one is used.
TEST(PlanWatch, TheKindOfPlanFollowsTheRequests) {
  WatchedModel model({{.prompt_tokens = 20, .answer_tokens = 200}});
  ASSERT_EQ(model.plan().stages.size(), 2u);
  WatchedModel of_several({});
  auto changed = model.changed.get_future(), not_changed = of_several.changed.get_future();
  const auto now = [](const std::function<Status()>& work) { return work(); };
  const PlanWatch watch("model", model, now, [] {}), other("model", of_several, now, [] {});
  ASSERT_EQ(changed.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  const WatchedModel::Change change = changed.get();
  ASSERT_EQ(change.usual_requests.size(), 1u);
  EXPECT_EQ(change.usual_requests.front().answer_tokens, 200u);
  EXPECT_THAT(change.why, testing::StartsWith("a+b=0:out is "));
  EXPECT_THAT(change.why, HasSubstr(" % faster than a=0:5,b=6:out for requests of 20 tokens and "
                                    "answers of 200, one at a time"));
  EXPECT_EQ(not_changed.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
}

// With any kind of plan a drained node is left once; its KV rows of conversations move first, and
// its connection is closed.
TEST(PlanWatch, DrainedNodesAreLeft) {
  WatchedModel model({}, /*is_drained=*/true);
  auto changed = model.changed.get_future();
  const auto now = [](const std::function<Status()>& work) { return work(); };
  {
    const PlanWatch watch("model", model, now, [&] { model.steps.emplace_back("moved"); });
    ASSERT_EQ(model.left.get_future().wait_for(std::chrono::seconds(30)),
              std::future_status::ready);
  }
  EXPECT_EQ(changed.get().why, "drained: b");
  EXPECT_THAT(model.steps, testing::ElementsAre("rebalanced", "moved", "left 00000000"));
}

// If the others cannot take over, requests continue as before.
TEST(PlanWatch, DrainedNodesThatNoOtherReplacesAreUsedOn) {
  WatchedModel model({}, /*is_drained=*/true, /*memory_bytes=*/700 * kTestMiB);
  int calls = 0;
  std::promise<void> second;
  {
    const auto now = [&](const std::function<Status()>& work) {
      if (++calls == 2) second.set_value();
      return work();
    };
    const PlanWatch watch("model", model, now, [] {});
    ASSERT_EQ(second.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  }
  // Each look only asks for the present route.
  EXPECT_THAT(model.steps, testing::IsEmpty());
}

}  // namespace
}  // namespace aster::open
