// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/forward/runner_for_test.h"

namespace aster::engine {
namespace {

using ::testing::SizeIs;

class MeasureTest : public ::testing::Test {
 protected:
  MeasureTest() : file_(model::SmallShape(model::Arch::kLlama), gguf::TensorType::kQ8_0) {}

  Result<MeasureReport> Run(MeasurePlan plan, LocalModelOptions options = {}) {
    plan.limit_buffer_bytes = 1 << 20;  // this machine's real limits do not matter here
    const auto model = LocalModel::Load(file_.files(), options).value();
    options.memory_bytes = MemoryFor(plan, model->layout(), model->layout().all_layers());
    return Measure(*model, options, plan, clock_, progress_);
  }

  const model::ModelFile file_;
  const SystemClock clock_;
  MeasureProgress progress_;
};

TEST_F(MeasureTest, EveryCaseIsMeasuredInEveryRepetition) {
  const MeasurePlan plan{.prompts = {5, 200},
                         .answer = 3,
                         .depths = {130, 0},
                         .threads = {1, 2},
                         .batches = {1, 4},
                         .repetitions = 2};
  uint64_t steps = 0, announced = 0;
  progress_.on_step = [&](const std::string&, uint64_t done, uint64_t total) {
    EXPECT_EQ(done, steps++);
    announced = total;
  };
  const MeasureReport report = Run(plan).value();
  EXPECT_EQ(steps, announced);
  EXPECT_THAT(report.threads, SizeIs(2));
  EXPECT_THAT(report.results, SizeIs(2 * 2 * (2 + 2)));
  for (const Measurement& result : report.results) {
    EXPECT_THAT(result.durations_ns, SizeIs(2));
    EXPECT_GT(result.tokens_per_s, 0);
    EXPECT_GT(result.limit_tokens_per_s, 0);
  }
}

TEST_F(MeasureTest, MemoryIsEnoughAlsoWithAWindow) {
  const MeasurePlan plan{.prompts = {700},
                         .answer = 2,
                         .depths = {1000, 300},
                         .threads = {1, 2},
                         .batches = {9},
                         .repetitions = 1};
  EXPECT_TRUE(Run(plan).ok());
  LocalModelOptions options;
  options.memory = {.window = 100, .sinks = 4};
  EXPECT_TRUE(Run(plan, options).ok());
}

TEST_F(MeasureTest, NothingToMeasureIsAnError) {
  EXPECT_FALSE(Run({.prompts = {}, .answer = 0}).ok());
  EXPECT_FALSE(Run({.prompts = {8}, .depths = {}}).ok());
  EXPECT_FALSE(Run({.prompts = {8}, .threads = {}}).ok());
  EXPECT_FALSE(Run({.prompts = {8}, .repetitions = 0}).ok());
}

TEST(MedianTest, IsInTheMiddle) {
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace aster::engine
