// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/speculation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/clock.h"

namespace aster::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DraftLength, NeverMoreThanAskedForAndAllOfThemWhereTheyAreRight) {
  for (const uint32_t most : {1u, 3u, 8u, kMostDrafts}) {
    DraftLength length(most);
    for (int i = 0; i < 200; ++i) {
      const uint32_t next = length.Next();
      ASSERT_LE(next, most);
      ASSERT_GE(next, 1u);
      length.Learn(next, next);
    }
    EXPECT_EQ(length.Next(), most);
  }
}

TEST(DraftLength, HardlyAnyWhereTheyAreWrong) {
  DraftLength length(8);
  uint32_t checked = 0;
  for (int i = 0; i < 400; ++i) {
    const uint32_t next = length.Next();
    checked += next;
    length.Learn(next, 0);
  }
  EXPECT_LT(checked, 80u);
  EXPECT_GT(checked, 400u / 32) << "it still tries now and then";
  // The length grows again when draft tokens become right.
  for (int i = 0; i < 400; ++i) {
    const uint32_t next = length.Next();
    length.Learn(next, next);
  }
  EXPECT_EQ(length.Next(), 8u);
}

TEST(DraftLength, ShorterWhereTheyAreOftenWrong) {
  DraftLength often(8), seldom(8);
  for (int i = 0; i < 400; ++i) {
    often.Learn(1, i % 10 == 0 ? 0 : 1);
    seldom.Learn(1, i % 2 == 0 ? 0 : 1);
  }
  EXPECT_GT(often.Next(), seldom.Next());
}

TEST(DraftRoom, LeavesOneForTheModelItself) {
  EXPECT_EQ(DraftRoom(0), 0u);
  EXPECT_EQ(DraftRoom(1), 0u);
  EXPECT_EQ(DraftRoom(2), 1u);
  EXPECT_EQ(DraftRoom(UINT64_MAX), kMostDrafts);
}

class Says final : public Proposer {
 public:
  explicit Says(std::vector<int32_t> tokens, Status status = Ok())
      : tokens_(std::move(tokens)), status_(std::move(status)) {}
  Status Propose(std::span<const int32_t> /*history*/, uint32_t /*most*/,
                 std::vector<int32_t>& drafts) override {
    drafts = tokens_;
    return status_;
  }

 private:
  const std::vector<int32_t> tokens_;
  const Status status_;
};

TEST(Speculation, TakesNoMoreThanThereIsRoomForAndNothingThatIsNoToken) {
  const int32_t history[] = {1, 2};
  const auto propose = [&](Says says, uint32_t room) {
    Speculation speculation(std::make_unique<Says>(std::move(says)), {.most = 4}, 300);
    const auto taken = speculation.Propose(history, room);
    return std::vector<int32_t>(taken.begin(), taken.end());
  };
  EXPECT_THAT(propose(Says({5, 6, 7, 8, 9}), 2), ElementsAre(5, 6));
  EXPECT_THAT(propose(Says({5, 6, 7, 8, 9}), 0), IsEmpty());
  EXPECT_THAT(propose(Says({5, 300, 7}), 4), ElementsAre(5));
  EXPECT_THAT(propose(Says({-1, 7}), 4), IsEmpty());
  EXPECT_THAT(propose(Says({5, 6}, Error(Code::kInternal, "no")), 4), IsEmpty());
}

TEST(Speculation, CountsAcceptedAndRejectedDrafts) {
  Speculation speculation(std::make_unique<Says>(std::vector<int32_t>{5}), {.most = 4}, 300);
  speculation.Learn(4, 3);
  speculation.Learn(0, 0);
  speculation.Learn(2, 0);
  EXPECT_EQ(speculation.counts(), (DraftCounts{.drafted = 6, .accepted = 3, .steps = 3}));
}

TEST(Speculation, WithoutDraftTokensAFewStepsAreTaken) {
  const int32_t history[] = {1, 2};
  // The drafter was asked and had nothing: a little later it may have something.
  Speculation empty(std::make_unique<Says>(std::vector<int32_t>{}), {.most = 4}, 300);
  std::vector<uint32_t> steps;
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(empty.Propose(history, 4), IsEmpty());
    steps.push_back(empty.StepsWithoutDrafts());
    for (uint32_t step = 0; step < steps.back(); ++step) empty.Learn(0, 0);
  }
  EXPECT_THAT(steps, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 8, 8));
  EXPECT_EQ(empty.counts().steps, 52u);
  // Each of several steps has its part of their time.
  VirtualClock clock;
  DraftTimesByKind times;
  Speculation watched(std::make_unique<Says>(std::vector<int32_t>{5}), {.most = 1}, 300,
                      {.clock = &clock, .times = &times});
  for (int i = 0; i < 20; ++i) {
    const auto drafts = static_cast<uint32_t>(watched.Propose(history, 4).size());
    const uint32_t alone = drafts > 0 ? 1 : watched.StepsWithoutDrafts();
    for (uint32_t step = 0; step < alone; ++step) {
      clock.AdvanceBy(drafts > 0 ? 1'900'000 : 1'000'000);
      watched.Learn(drafts, drafts);
    }
  }
  // Two tokens in 1.9 ms are more than one in 1 ms, and would not be if four steps were one.
  EXPECT_GT(watched.counts().accepted, 12u);
}

TEST(DraftShare, FillsAStepAndNoMore) {
  EXPECT_EQ(DraftShare(1, 0), kMostDrafts);
  for (size_t answers = 2; answers <= 40; ++answers) {
    size_t rows = answers;
    for (size_t i = 0; i < answers; ++i) {
      rows += DraftShare(answers, i);
      // Equal, except for the remainder.
      EXPECT_LE(DraftShare(answers, i), DraftShare(answers, 0));
      EXPECT_LE(DraftShare(answers, 0), DraftShare(answers, i) + 1);
    }
    EXPECT_EQ(rows, std::max<size_t>(answers, kCheapRows));
  }
}

}  // namespace
}  // namespace aster::engine
