// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/two_batch_overlap.h"

#include <gtest/gtest.h>

namespace aster::stage {
namespace {

// A group whose rounds take the given times, with all answers in one frame and in two.
class TimedGroup {
 public:
  TimedGroup(size_t answers, int64_t one_ns, int64_t two_ns, int64_t waited_ns)
      : answers_(answers), one_ns_(one_ns), two_ns_(two_ns), waited_ns_(waited_ns) {}

  // Returns whether it ended with two frames.
  bool Run(TwoBatchOverlap& overlap, size_t rounds) {
    in_turns_ = 0;
    for (size_t i = 0; i < rounds; ++i) {
      const size_t most = overlap.MostInFrame(answers_, 0);
      in_turns_ += overlap.IsOverlapping(answers_) ? 1 : 0;
      if (most == answers_) {
        overlap.Learn(
            {.answers = answers_, .own = most, .took_ns = one_ns_, .waited_ns = waited_ns_});
        continue;
      }
      for (const size_t own : {most, answers_ - most})
        overlap.Learn({.answers = answers_, .own = own, .took_ns = two_ns_ / 2});
    }
    return overlap.IsOverlapping(answers_);
  }
  size_t in_turns() const { return in_turns_; }

 private:
  const size_t answers_;
  const int64_t one_ns_, two_ns_, waited_ns_;
  size_t in_turns_ = 0;
};

TEST(TwoBatchOverlap, AreTakenWhereTheyAreFaster) {
  TwoBatchOverlap overlap;
  EXPECT_TRUE(TimedGroup(7, 1000, 800, 400).Run(overlap, 100));
  EXPECT_EQ(overlap.MostInFrame(7, 0), 4u);
  EXPECT_EQ(overlap.MostInFrame(7, 4), 4u);
  // Nothing is known yet for other numbers of answers.
  EXPECT_FALSE(overlap.IsOverlapping(8));
  EXPECT_EQ(overlap.MostInFrame(8, 0), 8u);
}

TEST(TwoBatchOverlap, AreTriedAndGivenUpWhereTheyAreSlower) {
  TwoBatchOverlap overlap;
  TimedGroup group(4, 1000, 1500, 400);
  EXPECT_FALSE(group.Run(overlap, 20));
  EXPECT_EQ(group.in_turns(), 8u);
  // Trials become rarer and rarer.
  EXPECT_FALSE(group.Run(overlap, 10'000));
  EXPECT_LT(group.in_turns(), 60u);
}

TEST(TwoBatchOverlap, AreNotTriedWhereNoNodeWaits) {
  TwoBatchOverlap overlap;
  TimedGroup group(4, 1000, 500, 100);
  EXPECT_FALSE(group.Run(overlap, 10'000));
  EXPECT_EQ(group.in_turns(), 0u);
}

TEST(TwoBatchOverlap, FollowTheLink) {
  TwoBatchOverlap overlap;
  EXPECT_TRUE(TimedGroup(4, 1000, 700, 400).Run(overlap, 100));
  EXPECT_FALSE(TimedGroup(4, 700, 900, 50).Run(overlap, 1000));
  EXPECT_TRUE(TimedGroup(4, 1000, 700, 400).Run(overlap, 20'000));
}

// No frame is begun while answers are in flight, so that those that began later join them.
TEST(TwoBatchOverlap, OneFrameHasAllAnswers) {
  const TwoBatchOverlap overlap;
  EXPECT_EQ(overlap.MostInFrame(3, 2), 0u);
  EXPECT_EQ(overlap.MostInFrame(3, 0), 3u);
  EXPECT_EQ(overlap.MostInFrame(1, 0), 1u);
}

TEST(TwoBatchOverlap, OneAnswerHasNone) {
  TwoBatchOverlap overlap;
  for (int i = 0; i < 100; ++i)
    overlap.Learn({.answers = 1, .own = 1, .took_ns = 1000, .waited_ns = 900});
  EXPECT_FALSE(overlap.IsOverlapping(1));
}

TEST(TwoBatchOverlap, ManyAnswers) {
  TwoBatchOverlap overlap;
  EXPECT_TRUE(TimedGroup(1000, 1000, 800, 400).Run(overlap, 100));
  EXPECT_EQ(overlap.MostInFrame(1000, 500), 500u);
}

}  // namespace
}  // namespace aster::stage
