// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/plan_for_turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "open/pool_for_test.h"

namespace aster::open {
namespace {

constexpr ExpectedRequest kQuestion = {.prompt_tokens = 20, .answer_tokens = 200};
constexpr ExpectedRequest kText = {.prompt_tokens = 16'000, .answer_tokens = 200};

class PlanForTurn : public testing::Test {
 protected:
  static WantedPlan For(const ExpectedRequest& turn) {
    WantedPlan wanted = WantedForTest();
    wanted.requests = {turn};
    return wanted;
  }
  std::optional<std::string> Change(const ExpectedRequest& turn, const plan::Plan& current,
                                    double opening_s = 5) {
    return ChangeForTurn(pool_, For(turn), current, opening_s, changes_);
  }

  FakePool pool_{100'000 * kTestMiB};
  const plan::Plan of_question_ = PlanByAbility(pool_, For(kQuestion), {})->plan;
  const plan::Plan of_text_ = PlanByAbility(pool_, For(kText), {})->plan;
  plan::TurnChanges changes_;
};

// A long text gains enough to pay for the change; one more question after it does not.
TEST_F(PlanForTurn, FollowsTheTurns) {
  ASSERT_EQ(of_question_.stages.size(), 1u);
  ASSERT_EQ(of_text_.stages.size(), 2u);
  EXPECT_FALSE(Change(kQuestion, of_question_));
  const auto why = Change(kText, of_question_);
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, testing::StartsWith(plan::SplitText(of_text_) + " is expected"));
  EXPECT_FALSE(Change(kText, of_text_));
  ExpectedRequest question = kQuestion;
  question.held_tokens = 16'200;
  EXPECT_FALSE(Change(question, of_text_));
}

// Weights that are in memory need no loading.
TEST_F(PlanForTurn, WhatIsLoadedCostsLess) {
  EXPECT_FALSE(Change(kText, of_question_, /*opening_s=*/1e6));
  for (const plan::PlanStage& stage : of_text_.stages)
    pool_.Hold(stage.node.name == "a" ? 0 : 1, stage.slice, 600 * kTestMiB);
  EXPECT_TRUE(Change(kText, of_question_, /*opening_s=*/1e6));
}

// KV rows of earlier turns go from the first node to the second: 6 layers' rows of 16,000 tokens
// take 0.4 s, and the text 19 s less. Over a slow link they are computed again, for 19 s.
TEST_F(PlanForTurn, RowsMoveOverTheirOwnLinks) {
  const auto change = [&](double to_b, double to_a) {
    pool_.SetLink(0, to_b);
    pool_.SetLink(1, to_a);
    WantedPlan wanted = For({.prompt_tokens = 16'000, .answer_tokens = 200, .held_tokens = 16'000});
    wanted.load.kv_row_bytes = 4096;
    plan::TurnChanges changes;
    return ChangeForTurn(pool_, wanted, of_question_, /*opening_s=*/5, changes);
  };
  ASSERT_EQ(of_question_.stages[0].node.name, "a");
  EXPECT_TRUE(change(1e9, 1e5));
  EXPECT_FALSE(change(1e5, 1e9));
}

TEST_F(PlanForTurn, DrainedNodesAreLeftWhereOthersTakeOver) {
  pool_.Drain(1);
  EXPECT_EQ(Change(kQuestion, of_text_).value_or(""), "node b is drained");
  FakePool small(700 * kTestMiB);
  small.Drain(1);
  EXPECT_FALSE(ChangeForTurn(small, For(kQuestion), of_text_, 5, changes_));
}

}  // namespace
}  // namespace aster::open
