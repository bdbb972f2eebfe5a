// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/draft_pace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace aster::conduct {
namespace {

// Equal stages: the times of a frame at each, and of a link between two of them.
struct Line {
  uint32_t stages = 2;
  double row_share = 0.3;  // of the first row's time, for each further row
  double stage_ns = 1e6;   // of one row
  double link_ns = 0;
  double second_share = 0;  // of the first row's time, that the second one takes beyond row_share

  double StageNs(uint32_t rows) const {
    return stage_ns * (1 + row_share * (rows - 1) + (rows > 1 ? second_share : 0));
  }
  double RoundTripNs(uint32_t rows) const {
    return stages * StageNs(rows) + (stages + 1) * link_ns;
  }
  void Tell(FrameTimes& times, uint32_t rows) const {
    const std::vector<wire::Hop> hops(
        stages,
        {.queue_ns = 0, .compute_ns = static_cast<uint64_t>(StageNs(rows)), .bytes_out = 0});
    times.Learn(rows, hops, static_cast<int64_t>(RoundTripNs(rows)));
  }
  FrameTimes Times() const {
    FrameTimes times;
    for (uint32_t rows = 1; rows <= 9; ++rows) Tell(times, rows);
    return times;
  }
};

constexpr DraftPace::Limits kWide = {.most_rows = 9, .most_tokens = 33};

// The time of a sequence of `tokens` whose draft tokens are right with probability `right`. Frames
// of a run begin one after the other; after a wrong draft token the next run begins.
double DurationNs(const Line& line, double right, uint32_t tokens, DraftPace& pace,
                  FrameTimes& times, const DraftPace::Limits& limits = kWide) {
  Random random(7);
  double now_ns = 0;
  double first_stage_free_ns = 0;
  for (uint32_t done = 0; done < tokens;) {
    const DraftPace::Step step = pace.Next(times, limits);
    line.Tell(times, step.rows);
    const double begin_ns = std::max(now_ns, first_stage_free_ns);
    const double between_ns =
        std::max(line.StageNs(step.rows), line.RoundTripNs(step.rows) / step.frames);
    bool is_right = true;
    for (uint32_t frame = 0; is_right && (frame == 0 || step.frames > 1); ++frame) {
      now_ns = begin_ns + line.RoundTripNs(step.rows) + frame * between_ns;
      // Its token and the right draft tokens; the last of them is in the next frame.
      const uint32_t drafts = step.frames > 1 ? step.rows : step.rows - 1;
      ++done;
      for (uint32_t i = 0; is_right && i < drafts; ++i) {
        is_right = random.NextDouble() < right;
        pace.Learn(is_right);
        if (is_right && i + 1 < step.rows) ++done;
      }
      if (done >= tokens) break;
    }
    // The first stage computes the frames after it until the cancel arrives.
    first_stage_free_ns =
        step.frames == 1
            ? now_ns
            : begin_ns + std::ceil((now_ns - begin_ns) / between_ns - 0.01) * between_ns;
  }
  return now_ns;
}

double GainOf(const Line& line, double right, uint32_t tokens = 2000) {
  DraftPace pace;
  FrameTimes times;
  line.Tell(times, 1);
  return tokens * line.RoundTripNs(1) / DurationNs(line, right, tokens, pace, times);
}

TEST(AcceptanceRate, FollowsWhatIsSeen) {
  AcceptanceRate rate(0.6);
  EXPECT_DOUBLE_EQ(rate.value(), 0.6);
  for (int i = 0; i < 6; ++i) rate.Learn(false);
  EXPECT_LT(rate.value(), 0.25);
  for (int i = 0; i < 200; ++i) rate.Learn(i % 10 < 7);
  EXPECT_NEAR(rate.value(), 0.7, 0.07);
}

TEST(DraftPace, TheRateIsThatOfTheModel) {
  // [1 / (1 - a)] / [t (n + a^w / (1 - a^w))], of n equal stages without links.
  const Line line{.stages = 4, .row_share = 0.3};
  const FrameTimes times = line.Times();
  for (const double right : {0.3, 0.7, 0.9}) {
    for (const uint32_t rows : {1U, 3U}) {
      const double whole = std::pow(right, rows);
      const double expected = 1 / (1 - right) / (line.StageNs(rows) * (4 + whole / (1 - whole)));
      EXPECT_NEAR(TokensPerNs({.rows = rows, .frames = 4}, right, times.Of(rows), 0) / expected, 1,
                  0.001);
    }
    // A frame at a time: the tokens of a frame in a round trip.
    const double tokens = 1 + right + right * right;
    EXPECT_NEAR(TokensPerNs({.rows = 3, .frames = 1}, right, times.Of(3), 0) * line.RoundTripNs(3),
                tokens, 0.001);
  }
}

TEST(DraftPace, WidthAndDepthFollowFromTimesAndAcceptance) {
  const auto best = [](const Line& line, double right, double draft_ns = 0) {
    DraftPace pace(right);
    DraftPace::Limits limits = kWide;
    limits.draft_ns = draft_ns;
    return pace.Next(line.Times(), limits);
  };
  // If rows cost as much as tokens, each frame has one row, and all stages work.
  EXPECT_EQ(best({.stages = 2, .row_share = 1}, 0.7), (DraftPace::Step{1, 2}));
  EXPECT_EQ(best({.stages = 4, .row_share = 1}, 0.7), (DraftPace::Step{1, 4}));
  // If rows cost hardly anything, there are many in a frame.
  EXPECT_GE(best({.stages = 2, .row_share = 0.02}, 0.9).rows, 4u);
  // A slow link is filled, too.
  EXPECT_GE(best({.stages = 2, .row_share = 1, .link_ns = 1e6}, 0.9).frames, 4u);
  // There are no draft tokens if they are never right, or if the drafter is as slow as the model.
  EXPECT_EQ(best({.stages = 2, .row_share = 0.3}, 0.01), DraftPace::Step());
  EXPECT_EQ(best({.stages = 2, .row_share = 0.3}, 0.5, 2e6), DraftPace::Step());
  // There are no draft tokens before a frame was timed.
  DraftPace pace;
  EXPECT_EQ(pace.Next({}, kWide), DraftPace::Step());
}

TEST(DraftPace, LimitsHold) {
  const Line line{.stages = 4, .row_share = 0.01};
  for (const uint32_t most : {1U, 2U, 3U, 5U, 9U}) {
    DraftPace pace(0.95);
    const auto step = pace.Next(line.Times(), {.most_rows = 4, .most_tokens = most});
    EXPECT_LE(step.rows * step.frames, most);
    EXPECT_LE(step.rows, 4u);
  }
}

TEST(DraftPace, FramesInFlightGainWhatTheModelSays) {
  // Two stages, rows that cost as much as tokens: 1.54 of plain decode at an acceptance of 0.7.
  const double two = GainOf({.stages = 2, .row_share = 1}, 0.7);
  EXPECT_GT(two, 1.4);
  EXPECT_LT(two, 1.65);
  EXPECT_GT(GainOf({.stages = 4, .row_share = 1}, 0.7), 2.0);
  EXPECT_GT(GainOf({.stages = 2, .row_share = 0.6}, 0.7), 1.4);
  EXPECT_GT(GainOf({.stages = 2, .row_share = 0.05}, 0.7), 1.9);
  EXPECT_GT(GainOf({.stages = 2, .row_share = 0.6}, 0.9), 1.7);
}

// As in a mixture of experts: two rows in a frame do not pay, and many do.
TEST(DraftPace, ManyRowsAreTriedWhereTheSecondIsExpensive) {
  const Line line{.stages = 2, .row_share = 0.15, .second_share = 0.5};
  const FrameTimes times = line.Times();
  const double plain = TokensPerNs({}, 0.9, times.Of(1), 0);
  EXPECT_GT(TokensPerNs({.rows = 8, .frames = 2}, 0.9, times.Of(8), 0) / plain, 2.8);
  EXPECT_GT(GainOf(line, 0.9, 300), 2.3);
}

// A cancelled frame costs messages.
TEST(DraftPace, WhatMessagesCostIsSeen) {
  const Line line{.stages = 2, .row_share = 0.3};
  FrameTimes times = line.Times();
  DraftPace pace(0.15);
  EXPECT_NE(pace.Next(times, kWide), DraftPace::Step());
  for (int i = 0; i < 3; ++i) times.LearnGap(0.3 * line.RoundTripNs(1), /*was_ahead=*/true);
  EXPECT_EQ(DraftPace(0.15).Next(times, kWide), DraftPace::Step());
  EXPECT_NE(DraftPace(0.7).Next(times, kWide), DraftPace::Step());
  // A gap after every token does not count against draft tokens.
  times = line.Times();
  for (int i = 0; i < 3; ++i) times.LearnGap(0.3 * line.RoundTripNs(1), /*was_ahead=*/false);
  EXPECT_NE(DraftPace(0.15).Next(times, kWide), DraftPace::Step());
}

// The last stage does not compute wrong draft tokens, so a slow last stage does not delay the next
// frame.
TEST(DraftPace, ASlowLastStageIsNotHeldUp) {
  FrameTimes times;
  times.Learn(1,
              std::vector<wire::Hop>{{.queue_ns = 0, .compute_ns = 100, .bytes_out = 0},
                                     {.queue_ns = 0, .compute_ns = 160, .bytes_out = 0}},
              260);
  EXPECT_EQ(DraftPace(0.3).Next(times, kWide), (DraftPace::Step{1, 2}));
  EXPECT_NEAR(TokensPerNs({1, 2}, 0.3, times.Of(1), 0) * 260, 1 / 0.7 / (1 + 160 * 0.3 / 0.7 / 260),
              0.001);
}

TEST(DraftPace, NothingIsLostWhereDraftTokensAreWrong) {
  for (const double right : {0.0, 0.02, 0.05, 0.1, 0.2, 0.3}) {
    for (const double row_share : {0.02, 0.3, 0.6, 1.0}) {
      for (const uint32_t stages : {2U, 3U, 4U}) {
        for (const double link_ns : {0.0, 1e5, 2e6}) {
          const Line line{.stages = stages, .row_share = row_share, .link_ns = link_ns};
          EXPECT_GT(GainOf(line, right, 500), 0.98)
              << right << " " << row_share << " " << stages << " " << link_ns;
        }
      }
    }
  }
}

TEST(DraftPace, ADrafterThatIsSlowToBeginIsSeldomTried) {
  const Line line{.stages = 2, .row_share = 0.3};
  const FrameTimes times = line.Times();
  DraftPace pace(0.01);
  DraftPace::Limits limits = kWide;
  limits.try_ns = 100 * line.RoundTripNs(1);
  uint32_t tries = 0;
  for (int i = 0; i < 10000; ++i) tries += pace.Next(times, limits) == DraftPace::Step() ? 0 : 1;
  EXPECT_EQ(tries, 1u);
}

}  // namespace
}  // namespace aster::conduct
