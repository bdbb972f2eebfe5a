// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/work_rates.h"

#include <gtest/gtest.h>

namespace aster::stage {
namespace {

constexpr Hash128 kRatedModel{1, 2};
constexpr model::Slice kSlice{.layer_begin = 0, .layer_end = 8, .embedding = true, .head = false};

void LearnTimes(WorkRates& rates, int count, uint32_t rows, double seconds,
                const model::Slice& slice = kSlice) {
  for (int i = 0; i < count; ++i)
    rates.Learn(kRatedModel, slice, rows, /*context=*/rows + 10, seconds);
}

TEST(WorkRates, AFewFramesMakeATime) {
  WorkRates rates;
  LearnTimes(rates, WorkRates::kEnough - 1, 1, 0.02);
  EXPECT_TRUE(rates.All().empty());
  LearnTimes(rates, 1, 1, 0.02);
  ASSERT_EQ(rates.All().size(), 1U);
  const WorkRate rate = rates.All()[0];
  EXPECT_EQ(rate.fingerprint, kRatedModel);
  EXPECT_EQ(rate.slice, kSlice);
  EXPECT_DOUBLE_EQ(rate.token.seconds, 0.02);
  EXPECT_EQ(rate.token.rows, 1U);
  EXPECT_EQ(rate.token.context, 11U);
  EXPECT_EQ(rate.chunk.rows, 0U);
}

TEST(WorkRates, WhatAGroupWaitedForIsCountedBesides) {
  WorkRates rates;
  for (const double waited_s : {0.01, 0.02, 0.5})
    rates.Learn(kRatedModel, kSlice, 256, 256, 0.3, waited_s);
  EXPECT_DOUBLE_EQ(rates.All().at(0).chunk.seconds, 0.3);
  EXPECT_DOUBLE_EQ(rates.All().at(0).chunk.waited_s, 0.02);
}

TEST(WorkRates, OneThatWasHeldUpChangesNothing) {
  WorkRates rates;
  LearnTimes(rates, 4, 1, 0.02);
  LearnTimes(rates, 1, 1, 5);
  EXPECT_DOUBLE_EQ(rates.All().at(0).token.seconds, 0.02);
}

TEST(WorkRates, FramesOfEachLengthCountTheLongestFirst) {
  WorkRates rates;
  LearnTimes(rates, 5, 1, 0.02);
  LearnTimes(rates, 5, 256, 0.5);
  LearnTimes(rates, 5, 100, 0.3);
  LearnTimes(rates, 5, 16, 0.1);
  const std::vector<WorkRate> all = rates.All();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].token.rows, 1U);
  EXPECT_EQ(all[0].chunk.rows, 256U);
  EXPECT_DOUBLE_EQ(all[0].chunk.seconds, 0.5);
  // The times of tokens are only in the first rate.
  EXPECT_EQ(all[1].token.rows, 0U);
  EXPECT_EQ(all[1].chunk.rows, 100U);
  EXPECT_EQ(all[2].chunk.rows, 16U);
  EXPECT_DOUBLE_EQ(all[2].chunk.seconds, 0.1);
}

// Prompts of one length are rare, so a single frame is enough.
TEST(WorkRates, OneFrameOfAPromptMakesATime) {
  WorkRates rates;
  LearnTimes(rates, 1, 128, 0.2);
  ASSERT_EQ(rates.All().size(), 1U);
  EXPECT_DOUBLE_EQ(rates.All()[0].chunk.seconds, 0.2);
}

TEST(WorkRates, FramesWithTheHeadAreOthers) {
  WorkRates rates;
  model::Slice with_head = kSlice;
  with_head.head = true;
  LearnTimes(rates, 3, 128, 0.2);
  LearnTimes(rates, 3, 128, 0.22, with_head);
  const std::vector<WorkRate> all = rates.All();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_DOUBLE_EQ(all[0].chunk.seconds, 0.2);
  EXPECT_TRUE(all[1].slice.head);
  EXPECT_DOUBLE_EQ(all[1].chunk.seconds, 0.22);
}

TEST(WorkRates, ShortFramesAndTimesOfNothingAreNotCounted) {
  WorkRates rates;
  LearnTimes(rates, 5, 4, 0.1);
  LearnTimes(rates, 5, 0, 0.1);
  LearnTimes(rates, 5, 1, 0);
  EXPECT_TRUE(rates.All().empty());
}

TEST(WorkRates, OldSlicesMakeRoom) {
  WorkRates rates;
  model::Slice slice = kSlice;
  const model::Slice often{.layer_begin = 100, .layer_end = 108, .embedding = false, .head = true};
  for (uint32_t i = 0; i <= WorkRates::kMostSlices; ++i) {
    slice.layer_end = i + 1;
    LearnTimes(rates, 3, 1, 0.01, slice);
    LearnTimes(rates, 1, 1, 0.01, often);
  }
  const std::vector<WorkRate> all = rates.All();
  ASSERT_EQ(all.size(), WorkRates::kMostSlices);
  EXPECT_EQ(all.back().slice, often);
  EXPECT_EQ(all.front().slice.layer_end, 3U);
}

}  // namespace
}  // namespace aster::stage
