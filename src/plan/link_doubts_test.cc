// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/link_doubts.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace aster::plan {
namespace {

class LinkDoubtsTest : public testing::Test {
 protected:
  LinkDoubtsTest() {
    for (uint64_t number = 0; number < 2; ++number)
      nodes_.emplace_back().node.id = {{.low = number, .high = 1}};
  }

  // The rates that the planner gets for the measured rates there and back.
  std::pair<double, double> See(double there, double back, int64_t now_s) {
    std::vector<LinkAbility> links = {{.from = 0, .to = 1, .bytes_per_s = there},
                                      {.from = 1, .to = 0, .bytes_per_s = back}};
    doubts_.Apply(nodes_, links, now_s * kNsPerSecond);
    return {links[0].bytes_per_s, links[1].bytes_per_s};
  }

  std::vector<NodeAbility> nodes_;
  LinkDoubts doubts_;
};

using Rates = std::pair<double, double>;

TEST_F(LinkDoubtsTest, RatesThatAreUnlikeFromTheStartAreBelieved) {
  EXPECT_EQ(See(1e9, 1e6, 0), Rates(1e9, 1e6));
  EXPECT_EQ(See(1e9, 1e6, 1), Rates(1e9, 1e6));
}

TEST_F(LinkDoubtsTest, WhereOneDirectionBecomesSlowTheOtherOneIsNotBelieved) {
  See(1e9, 1e8, 0);
  EXPECT_EQ(See(1e6, 1e8, 1), Rates(1e6, 1e6));
  EXPECT_EQ(See(1e6, 1e8, 2), Rates(1e6, 1e6));
  // It was measured again.
  EXPECT_EQ(See(1e6, 2e6, 3), Rates(1e6, 2e6));
  EXPECT_EQ(See(1e6, 1e8, 4), Rates(1e6, 1e8));
}

TEST_F(LinkDoubtsTest, AfterHalfAMinuteItIsBelievedAgain) {
  See(1e9, 1e9, 0);
  EXPECT_EQ(See(1e6, 1e9, 10), Rates(1e6, 1e6));
  EXPECT_EQ(See(1e6, 1e9, 39), Rates(1e6, 1e6));
  EXPECT_EQ(See(1e6, 1e9, 40), Rates(1e6, 1e9));
}

TEST_F(LinkDoubtsTest, BothDirectionsThatBecomeSlowAtOnceAreBelieved) {
  See(1e9, 1e9, 0);
  EXPECT_EQ(See(1e6, 3e6, 1), Rates(1e6, 3e6));
  EXPECT_EQ(See(1e6, 3e6, 2), Rates(1e6, 3e6));
}

TEST_F(LinkDoubtsTest, ALittleSlowerIsNoReason) {
  See(1e9, 1e9, 0);
  EXPECT_EQ(See(3e8, 1e9, 1), Rates(3e8, 1e9));
}

// A node may answer later than the other one, or not at all for a while.
TEST_F(LinkDoubtsTest, ADirectionThatIsUnknownForAWhileIsKept) {
  See(1e9, 1e9, 0);
  std::vector<LinkAbility> one = {{.from = 0, .to = 1, .bytes_per_s = 1e6}};
  doubts_.Apply(nodes_, one, 1 * kNsPerSecond);
  EXPECT_EQ(See(1e6, 1e9, 2), Rates(1e6, 1e6));
}

}  // namespace
}  // namespace aster::plan
