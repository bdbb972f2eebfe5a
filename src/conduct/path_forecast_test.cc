// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/path_forecast.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace aster::conduct {
namespace {

constexpr PlannedPath kPlanned = {
    .first_chunk_s = 0.8, .chunk_s = 0.5, .token_s = 0.05, .chunk_tokens = 256};

TEST(PathForecast, ThePlanUntilSomethingCame) {
  const PathForecast forecast(kPlanned);
  EXPECT_DOUBLE_EQ(forecast.PrefillSeconds(1), 0.05);
  EXPECT_DOUBLE_EQ(forecast.PrefillSeconds(128), 0.4);
  EXPECT_DOUBLE_EQ(forecast.PrefillSeconds(768), 0.8 + 2 * 0.5);
  EXPECT_DOUBLE_EQ(forecast.TokenSeconds(3), 0.05);
  EXPECT_FALSE(forecast.has_learned());
}

TEST(PathForecast, NothingIsKnownWithoutAPlan) {
  PathForecast forecast;
  EXPECT_EQ(forecast.PrefillSeconds(100), 0);
  EXPECT_EQ(forecast.TokenSeconds(1), 0);
  // Then only learned times are known.
  forecast.LearnPrefill(100, 2);
  forecast.LearnToken(1, 0.1);
  EXPECT_DOUBLE_EQ(forecast.PrefillSeconds(50), 1);
  EXPECT_DOUBLE_EQ(forecast.TokenSeconds(1), 0.1);
}

TEST(PathForecast, PromptsOfOneMagnitudeLearnFromEachOther) {
  PathForecast forecast(kPlanned);
  forecast.LearnPrefill(768, 3.6);  // twice as long as planned
  EXPECT_DOUBLE_EQ(forecast.PrefillSeconds(1024 - 1), 2 * (0.8 + (1023 / 256.0 - 1) * 0.5));
  // The factor holds for other prompt lengths, too, until one of them is learned.
  EXPECT_DOUBLE_EQ(forecast.PrefillSeconds(128), 0.8);
  forecast.LearnPrefill(128, 0.4);
  EXPECT_DOUBLE_EQ(forecast.PrefillSeconds(130), 0.8 * 130 / 256);
  EXPECT_DOUBLE_EQ(forecast.PrefillSeconds(768), 3.6);
}

TEST(PathForecast, AbsurdTimesAreNotLearnt) {
  PathForecast forecast(kPlanned);
  forecast.LearnPrefill(0, 1);
  forecast.LearnPrefill(10, 0);
  forecast.LearnToken(1, -1);
  forecast.LearnPrefill(0xffffffff, 1e9);
  forecast.LearnToken(SIZE_MAX, 1);
  EXPECT_DOUBLE_EQ(forecast.PrefillSeconds(768) > 0, true);
  EXPECT_GT(forecast.TokenSeconds(1), 0);
}

// A plan that is wrong by half, prompts and answers of all lengths, times that differ by a tenth,
// and one in thirty that is held up: nine of ten are predicted within 15 %.
TEST(PathForecast, NineOfTenOfAMixedLoadAreWithin15Percent) {
  Random random(5);
  const auto noise = [&] {
    const double near = 0.95 + 0.1 * static_cast<double>(random.NextBelow(1000)) / 1000;
    return random.NextBelow(30) == 0 ? 3 * near : near;
  };
  PathForecast forecast(kPlanned);
  int seen = 0, near = 0;
  for (int request = 0; request < 400; ++request) {
    const auto tokens = static_cast<uint32_t>(std::exp2(random.NextBelow(1200) / 100.0) + 1);
    const size_t running = 1 + random.NextBelow(4);
    // The true time: a constant, and one for each token.
    const double first_s = (0.07 + tokens * 0.0034) * noise();
    const double token_s = (0.06 + 0.01 * static_cast<double>(running)) * noise();
    if (request >= 40) {
      for (const double part :
           {forecast.PrefillSeconds(tokens) / first_s, forecast.TokenSeconds(running) / token_s}) {
        ++seen;
        near += part > 1 / 1.15 && part < 1.15 ? 1 : 0;
      }
    }
    forecast.LearnPrefill(tokens, first_s);
    forecast.LearnToken(running, token_s);
  }
  EXPECT_GE(near, seen * 9 / 10);
}

}  // namespace
}  // namespace aster::conduct
