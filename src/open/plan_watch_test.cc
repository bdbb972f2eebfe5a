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

// Of which groups can compute layers.
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
    std::optional<ExpectedRequest> usual_request;
    std::string why;
  };

  explicit WatchedModel(std::optional<ExpectedRequest> usual_request) {
    const FakePool pool(100'000 * kTestMiB);
    now_.plan = PlanByAbility(pool, WantedWithGroups(), {})->plan;
    now_.usual_request = usual_request;
  }

  engine::Generator& generator() override {
    CheckFailed(__FILE__, __LINE__, "a watch", "computes nothing");
  }
  uint32_t capacity_tokens() const override { return 0; }
  KvFigures kv() const override { return {}; }
  std::optional<RouteNow> route_now() const override { return now_; }
  Status Rearrange(NodeShares, std::optional<ExpectedRequest> usual_request,
                   const std::string& why) override {
    changed.set_value({usual_request, why});
    return Ok();
  }
  Result<Lookout> MakeLookout() const override {
    Lookout lookout{.pool = std::make_unique<FakePool>(100'000 * kTestMiB),
                    .wanted = WantedWithGroups()};
    lookout.wanted.replaces = true;
    return lookout;
  }

  const plan::Plan& plan() const { return now_.plan; }
  std::promise<Change> changed;

 private:
  RouteNow now_;
};

// A pipeline is what several requests share best. Short ones that come one at a time are answered
// sooner by a plan of another kind, and that is found after some looks.
TEST(PlanWatch, TheKindOfPlanFollowsTheRequests) {
  WatchedModel model(ExpectedRequest{.prompt_tokens = 20, .answer_tokens = 200});
  ASSERT_EQ(model.plan().stages.size(), 2u);
  WatchedModel of_several(std::nullopt);
  auto changed = model.changed.get_future(), not_changed = of_several.changed.get_future();
  const auto now = [](const std::function<Status()>& work) { return work(); };
  const PlanWatch watch("model", model, now), other("model", of_several, now);
  ASSERT_EQ(changed.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  const WatchedModel::Change change = changed.get();
  ASSERT_TRUE(change.usual_request);
  EXPECT_EQ(change.usual_request->answer_tokens, 200u);
  EXPECT_THAT(change.why, testing::StartsWith("a+b=0:out is "));
  EXPECT_THAT(change.why, HasSubstr(" % faster than a=0:5,b=6:out for requests of 20 tokens and "
                                    "answers of 200, one at a time"));
  EXPECT_EQ(not_changed.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
}

}  // namespace
}  // namespace aster::open
