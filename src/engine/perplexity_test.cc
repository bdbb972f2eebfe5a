// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/isa_choice.h"
#include "model/forward/runner_for_test.h"

namespace aster::engine {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

TEST(RunningMeanTest, AgreesWithTheFormulas) {
  RunningMean mean;
  EXPECT_EQ(mean.error(), 0);
  for (const double value : {2.0, 4.0, 4.0, 10.0}) mean.Add(value);
  EXPECT_DOUBLE_EQ(mean.mean(), 5);
  // Squares of differences: 9 + 1 + 1 + 25 = 36; variance 12; over four values 3.
  EXPECT_DOUBLE_EQ(mean.error(), std::sqrt(3.0));
}

TEST(PerplexityTest, OfEqualChancesIsTheirNumber) {
  for (const kernels::Isa isa : kernels::AvailableIsas()) {
    Perplexity perplexity(isa);
    const std::vector<float> logits(50, -3.5F);
    for (int32_t token = 0; token < 50; ++token) ASSERT_TRUE(perplexity.Add(logits, token).ok());
    EXPECT_NEAR(perplexity.value(), 50, 1e-4);
    EXPECT_NEAR(perplexity.error(), 0, 1e-6);
  }
}

TEST(PerplexityTest, OfKnownProbabilities) {
  Perplexity perplexity(kernels::FastestIsa());
  const std::vector<float> logits = {std::log(0.5F), std::log(0.25F), std::log(0.25F), -kInfinite};
  ASSERT_TRUE(perplexity.Add(logits, 0).ok());
  ASSERT_TRUE(perplexity.Add(logits, 1).ok());
  // 1 and 2 bits.
  EXPECT_NEAR(perplexity.value(), std::pow(2.0, 1.5), 1e-5);
  EXPECT_NEAR(perplexity.nll().error(), 0.5 * std::log(2.0), 1e-5);
  ASSERT_TRUE(perplexity.Add(logits, 3).ok());
  EXPECT_EQ(perplexity.value(), kInfinite);
}

TEST(PerplexityTest, LogitsThatAreNoNumbersAreRefused) {
  Perplexity perplexity(kernels::FastestIsa());
  EXPECT_FALSE(perplexity.Add(std::vector<float>{0, std::nanf(""), 1}, 0).ok());
  EXPECT_FALSE(perplexity.Add(std::vector<float>{0, kInfinite, 1}, 0).ok());
  EXPECT_FALSE(perplexity.Add(std::vector<float>{-kInfinite, -kInfinite}, 0).ok());
  EXPECT_EQ(perplexity.count(), 0U);
}

TEST(DivergenceTest, OfAModelFromItselfIsNothing) {
  Divergence divergence(kernels::FastestIsa());
  const std::vector<float> logits = {1, 2, -kInfinite, 0.5F};
  ASSERT_TRUE(divergence.Add(logits, logits).ok());
  const DivergenceReport report = divergence.Report();
  EXPECT_EQ(report.count, 1U);
  EXPECT_EQ(report.mean, 0);
  EXPECT_EQ(report.same_top, 1);
  EXPECT_EQ(report.equal_rows, 1U);
}

TEST(DivergenceTest, OfKnownProbabilities) {
  Divergence divergence(kernels::FastestIsa());
  const std::vector<float> first = {std::log(0.5F), std::log(0.5F)};
  // The same, all logits raised: probabilities do not change.
  const std::vector<float> raised = {first[0] + 7, first[1] + 7};
  const std::vector<float> second = {std::log(0.25F), std::log(0.75F)};
  ASSERT_TRUE(divergence.Add(first, raised).ok());
  ASSERT_TRUE(divergence.Add(first, second).ok());
  const DivergenceReport report = divergence.Report();
  const double expected = 0.5 * std::log(0.5 / 0.25) + 0.5 * std::log(0.5 / 0.75);
  EXPECT_NEAR(report.largest, expected, 1e-6);
  EXPECT_NEAR(report.mean, expected / 2, 1e-6);
  EXPECT_NEAR(report.median, expected / 2, 1e-6);
  EXPECT_NEAR(report.percentile_99, expected * 0.99, 1e-6);
  EXPECT_EQ(report.same_top, 0.5);
  EXPECT_NEAR(report.largest_difference, 7, 1e-5);
  EXPECT_EQ(report.equal_rows, 0U);
}

TEST(DivergenceTest, ATokenImpossibleForTheSecondMakesTheDivergenceInfinite) {
  Divergence divergence(kernels::FastestIsa());
  ASSERT_TRUE(divergence.Add(std::vector<float>{0, 0}, std::vector<float>{0, -kInfinite}).ok());
  EXPECT_EQ(divergence.Report().largest, kInfinite);
  EXPECT_EQ(divergence.Report().median, kInfinite);
}

TEST(ComputeRowsTest, EveryRowIsTheModelsOwn) {
  const model::ModelFile file(model::SmallShape(model::Arch::kLlama), gguf::TensorType::kQ8_0);
  const auto model = LocalModel::Load(file.files(), {}).value();
  const std::vector<int32_t> tokens = model::RandomTokens(150, 300);
  model::Runner runner(file.files(), model::Slice::Whole(model->shape()));
  const std::vector<float> expected = runner.Logits(tokens, 150);
  LocalModel* const models[] = {model.get(), model.get()};
  std::vector<size_t> positions;
  uint64_t done = 0;
  ASSERT_TRUE(ComputeRows(
                  models, tokens, 75,
                  [&](size_t position, std::span<const std::span<const float>> rows) {
                    positions.push_back(position);
                    // Both are the same model, so they share the logits of its last run.
                    EXPECT_TRUE(
                        std::equal(rows[1].begin(), rows[1].end(),
                                   expected.begin() + static_cast<ptrdiff_t>(position) * 300));
                    return Ok();
                  },
                  [&](uint64_t count) { done += count; })
                  .ok());
  EXPECT_EQ(done, 150U);
  ASSERT_EQ(positions.size(), 74U);
  EXPECT_EQ(positions.front(), 75U);
  EXPECT_EQ(positions.back(), 148U);
}

}  // namespace
}  // namespace aster::engine
