// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/layer_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/model_for_test.h"

namespace aster::stage {
namespace {

using testing::ElementsAre;

constexpr Hash128 kFingerprint = plan::TestModel::kFingerprint;

TEST(LayerMeter, TellsTokensAndFramesOfAModel) {
  const SystemClock clock;
  const auto rates =
      MeasureLayers(kFingerprint, plan::TestModel::Get().files(), /*threads=*/1, clock);
  ASSERT_TRUE(rates.ok()) << rates.error().message();
  std::vector<uint32_t> rows;
  for (const WorkRate& rate : *rates) {
    EXPECT_EQ(rate.fingerprint, kFingerprint);
    // The model is small, so all of it is measured.
    EXPECT_EQ(rate.slice, model::Slice::Whole(plan::TestModel::Get().shape()));
    EXPECT_GT(rate.chunk.seconds, 0);
    rows.push_back(rate.chunk.rows);
  }
  EXPECT_THAT(rows, ElementsAre(128, 64, 16));
  EXPECT_EQ(rates->front().token.rows, 1u);
  EXPECT_GT(rates->front().token.seconds, 0);
  // Tokens come after the frames.
  EXPECT_GT(rates->front().token.context, 128u + 64 + 16);
  EXPECT_EQ(rates->back().token.rows, 0u);
}

TEST(LayerMeter, CountsUntilFramesTellMore) {
  const WorkRate measured{.fingerprint = {1, 1},
                          .slice = {0, 4, true, true},
                          .token = {.seconds = 0.1, .rows = 1, .context = 200},
                          .chunk = {.seconds = 1, .rows = 128, .context = 128}};
  std::vector<WorkRate> rates;
  AddMeasured({&measured, 1}, /*token_factor=*/2, /*chunk_factor=*/3, rates);
  ASSERT_EQ(rates.size(), 1u);
  EXPECT_DOUBLE_EQ(rates[0].token.seconds, 0.2);
  EXPECT_DOUBLE_EQ(rates[0].chunk.seconds, 3);

  // Times of tokens of a part of the model count for all of it; times of another model do not.
  const WorkRate seen{.fingerprint = {1, 1},
                      .slice = {1, 2, false, false},
                      .token = {.seconds = 0.01, .rows = 1, .context = 10},
                      .chunk = {}};
  const WorkRate other{.fingerprint = {2, 2},
                       .slice = {1, 2, false, false},
                       .token = {},
                       .chunk = {.seconds = 0.2, .rows = 16, .context = 16}};
  rates = {seen, other};
  AddMeasured({&measured, 1}, 1, 1, rates);
  ASSERT_EQ(rates.size(), 3u);
  EXPECT_EQ(rates[2].token.rows, 0u);
  EXPECT_EQ(rates[2].chunk.rows, 128u);
  rates[0].chunk = {.seconds = 0.2, .rows = 16, .context = 16};
  rates.resize(2);
  AddMeasured({&measured, 1}, 1, 1, rates);
  EXPECT_EQ(rates.size(), 2u);
}

}  // namespace
}  // namespace aster::stage
