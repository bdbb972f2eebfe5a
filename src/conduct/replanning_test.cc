// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/replanning.h"

#include <gtest/gtest.h>

#include "conduct/cluster_for_test.h"

namespace aster::conduct {
namespace {

constexpr int64_t kWaitNs = 100;
const Error kWhy(Code::kUnavailable, "node b failed");

class ReplanningTest : public testing::Test {
 protected:
  Replanning Make(Result<plan::Plan> next) {
    return Replanning(TestPlan("a=0:1,b=2:out", 3), plan::kTestLayers,
                      [next = std::move(next)](const plan::Plan&, std::span<const wire::NodeId>,
                                               const Error&) { return next; },
                      {.max_failures = 3, .wait_ns = kWaitNs});
  }
};

TEST_F(ReplanningTest, AnotherPlanTakesThePlaceOfTheBrokenOne) {
  Replanning plans = Make(TestPlan("a=0:1,c=2:out", 3));
  EXPECT_TRUE(plans.ReplaceFailed({}, kWhy).ok());
  EXPECT_EQ(plan::SplitText(plans.plan()), "a=0:1,c=2:out");
  EXPECT_EQ(plans.count(), 1u);
}

TEST_F(ReplanningTest, WithoutAnotherPlanTheReasonIsReported) {
  Replanning none(TestPlan("a", 3), plan::kTestLayers, nullptr, {});
  EXPECT_EQ(none.ReplaceFailed({}, kWhy).error().message(), "node b failed");
  EXPECT_EQ(none.Replace({}, kWhy).error().message(), "node b failed");
  Replanning refused = Make(Error(Code::kUnavailable, "no node has layers 2 to 3"));
  EXPECT_EQ(refused.ReplaceFailed({}, kWhy).error().message(), "no node has layers 2 to 3");
  // A plan with a gap is refused.
  plan::Plan gap = TestPlan("a=0:1,b=2:out", 3);
  gap.stages.pop_back();
  Replanning broken = Make(gap);
  EXPECT_FALSE(broken.ReplaceFailed({}, kWhy).ok());
  EXPECT_EQ(plan::SplitText(broken.plan()), "a=0:1,b=2:out");
}

TEST_F(ReplanningTest, FailuresInARowAreFurtherApartAndAreNotMany) {
  Replanning plans = Make(TestPlan("a", 3));
  std::vector<int64_t> waits;
  for (int i = 0; i < 3; ++i) {
    plans.OnBroken(1000);
    waits.push_back(plans.open_at_ns() - 1000);
    EXPECT_TRUE(plans.ReplaceFailed({}, kWhy).ok());
  }
  EXPECT_EQ(waits, (std::vector<int64_t>{0, kWaitNs, 2 * kWaitNs}));
  EXPECT_FALSE(plans.ReplaceFailed({}, kWhy).ok());
  plans.ForgetFailures();
  plans.OnBroken(1000);
  EXPECT_EQ(plans.open_at_ns(), 1000);
  EXPECT_TRUE(plans.ReplaceFailed({}, kWhy).ok());
}

}  // namespace
}  // namespace aster::conduct
