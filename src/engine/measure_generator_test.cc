// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/measure_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/answers_for_test.h"
#include "engine/scheduler.h"

namespace aster::engine {
namespace {

using ::testing::SizeIs;

TEST(MeasureGeneratorTest, EveryCaseIsAskedInEveryRepetition) {
  const auto model = TinyModel::Get().Make();
  const SystemClock clock;
  Scheduler scheduler(*model, /*tokenizer=*/nullptr, clock);
  const MeasurePlan plan{
      .prompts = {5, 200}, .answer = 3, .depths = {256, 0}, .batches = {1, 4}, .repetitions = 2};
  const auto results = MeasureGenerator(scheduler, plan, /*threads=*/7, {}).value();
  ASSERT_THAT(results, SizeIs(2 * (2 + 2)));
  for (const Measurement& result : results) {
    EXPECT_EQ(result.what.threads, 7u);
    EXPECT_THAT(result.durations_ns, SizeIs(2));
    EXPECT_GT(result.tokens_per_s, 0);
  }
  // The text before is computed once, and not together with the measured tokens.
  const uint64_t behind = 5 + 200 + 1 + 4 * 1;
  EXPECT_EQ(scheduler.counters().prefill_tokens, 256 + 1 + 2 * 2 * behind);
}

TEST(MeasureGeneratorTest, NothingToMeasureIsAnError) {
  const auto model = TinyModel::Get().Make();
  const SystemClock clock;
  Scheduler scheduler(*model, /*tokenizer=*/nullptr, clock);
  EXPECT_FALSE(MeasureGenerator(scheduler, {.prompts = {}, .answer = 0}, 1, {}).ok());
  EXPECT_FALSE(MeasureGenerator(scheduler, {.prompts = {5}, .repetitions = 0}, 1, {}).ok());
}

TEST(MeasureGeneratorTest, RefusalsAreReported) {
  const auto model = TinyModel::Get().Make(/*memory_bytes=*/1 << 16);
  const SystemClock clock;
  Scheduler scheduler(*model, /*tokenizer=*/nullptr, clock);
  EXPECT_FALSE(MeasureGenerator(scheduler, {.prompts = {5000}}, 1, {}).ok());
}
}  // namespace
}  // namespace aster::engine
