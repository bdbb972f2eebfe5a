// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "base/random.h"
#include "engine/sampler_oracle_for_test.h"

namespace aster::engine {
namespace {

using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr SamplingOptions kPlain = {
    .top_k = 0, .top_p = 1, .min_p = 0, .temperature = 1, .seed = 1};
constexpr SamplingOptions kLikeliest = {.temperature = 0};

std::vector<float> RandomLogits(size_t count, uint64_t seed, float spread = 3) {
  std::vector<float> logits(count);
  FillNormal(seed, /*stream=*/5, 0, logits);
  for (float& logit : logits) logit *= spread;
  return logits;
}

int32_t ChooseId(const SamplingOptions& options, std::span<const float> logits,
                 std::span<const int32_t> history = {}) {
  Sampler sampler(options, static_cast<uint32_t>(logits.size()));
  return sampler.Choose(logits, history).value().id;
}

// Draws with `draws` seeds, and checks that only chance makes the numbers differ from expected
// ones.
void ExpectDrawn(SamplingOptions options, std::span<const float> logits,
                 std::span<const int32_t> history, uint64_t draws = 20000) {
  const Distribution expected = DistributionForTest(options, logits, history);
  std::map<int32_t, uint64_t> counts;
  for (uint64_t seed = 0; seed < draws; ++seed) {
    options.seed = seed * 7919;
    ++counts[ChooseId(options, logits, history)];
  }
  for (const auto& [id, count] : counts) {
    ASSERT_TRUE(expected.contains(id)) << id << " was drawn " << count << " times";
  }
  double chi_square = 0;
  double rare_expected = 0;
  uint64_t rare_count = 0;
  int degrees = -1;
  const auto add = [&](double wanted, uint64_t count) {
    const double difference = static_cast<double>(count) - wanted;
    chi_square += difference * difference / wanted;
    ++degrees;
  };
  for (const auto& [id, probability] : expected) {
    const double wanted = probability * static_cast<double>(draws);
    if (wanted >= 10) {
      add(wanted, counts[id]);
    } else {
      rare_expected += wanted;
      rare_count += counts[id];
    }
  }
  if (rare_expected >= 10) add(rare_expected, rare_count);
  // About one in ten thousand fair draws is beyond that.
  EXPECT_LT(chi_square, degrees + 4 * std::sqrt(2.0 * std::max(degrees, 1)) + 8);
}

TEST(Sampler, DrawsWhatTheOracleExpects) {
  const auto logits = RandomLogits(60, 1);
  const std::vector<SamplingOptions> cases = {
      kPlain,
      {.top_k = 7, .top_p = 1, .min_p = 0, .temperature = 1},
      {.top_k = 0, .top_p = 0.9F, .min_p = 0, .temperature = 1},
      {.top_k = 0, .top_p = 1, .min_p = 0.1F, .temperature = 1.5F},
      {.top_k = 0, .typical_p = 0.6F, .top_p = 1, .min_p = 0, .temperature = 1},
      {.top_k = 20, .typical_p = 0.8F, .top_p = 0.8F, .min_p = 0.02F, .temperature = 0.7F},
      {.top_k = 0, .top_p = 1, .min_p = 0, .temperature = 3},
      {},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectDrawn(cases[i], logits, {});
  }
}

TEST(Sampler, DrawsWhatTheOracleExpectsWithPenaltiesAndBiases) {
  const auto logits = RandomLogits(30, 2, 1.5F);
  const std::vector<int32_t> history = {1, 2, 3, 1, 1, 29, 28, 3, 2, 4};
  ExpectDrawn({.penalty_window = 0,
               .repetition_penalty = 1.3F,
               .frequency_penalty = 0.2F,
               .presence_penalty = 0.5F,
               .biases = {{5, 2.0F}, {6, -kInfinity}, {7, -1.5F}, {7, 1.0F}},
               .top_k = 0,
               .top_p = 1,
               .min_p = 0,
               .temperature = 1},
              logits, history);
  ExpectDrawn({.penalty_window = 4,
               .repetition_penalty = 0.8F,
               .presence_penalty = -0.7F,
               .temperature = 1.2F},
              logits, history);
}

// Positions are another source of randomness than seeds; both must be fair.
TEST(Sampler, DrawsFairlyFromPositionToPosition) {
  const std::vector<float> logits = {0.0F, std::log(2.0F), std::log(3.0F), std::log(4.0F)};
  Sampler sampler(kPlain, 4);
  std::vector<int32_t> history;
  std::vector<double> counts(4);
  for (int i = 0; i < 20000; ++i) {
    history.push_back(sampler.Choose(logits, history).value().id);
    ++counts[static_cast<size_t>(history.back())];
  }
  for (size_t id = 0; id < 4; ++id) {
    const double wanted = 2000.0 * static_cast<double>(id + 1);
    EXPECT_NEAR(counts[id], wanted, 4 * std::sqrt(wanted)) << id;
  }
}

// One choice each for very many options: the oracle must allow it, or it must be a token that
// rounding may let in at the border of a filter.
TEST(Sampler, EveryMixOfOptionsStaysWithinTheOraclesSet) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    const size_t vocab = 1 + random.NextBelow(seed % 50 == 0 ? 3000 : 90);
    const auto logits = RandomLogits(vocab, seed, 4);
    std::vector<int32_t> history(random.NextBelow(100));
    for (int32_t& id : history) id = static_cast<int32_t>(random.NextBelow(vocab));
    const auto fraction = [&] { return random.NextBelow(3) == 0 ? 1 : random.NextFloat() + 1e-3F; };
    SamplingOptions options = {
        .penalty_window = static_cast<uint32_t>(random.NextBelow(120)),
        .repetition_penalty = random.NextBelow(2) == 0 ? 1 : 0.5F + random.NextFloat(),
        .frequency_penalty = random.NextBelow(2) == 0 ? 0 : random.NextFloat() - 0.5F,
        .presence_penalty = random.NextBelow(2) == 0 ? 0 : random.NextFloat() - 0.5F,
        .top_k = static_cast<uint32_t>(random.NextBelow(50)),
        .typical_p = std::min(1.0F, fraction()),
        .top_p = std::min(1.0F, fraction()),
        .min_p = random.NextBelow(2) == 0 ? 0 : random.NextFloat(),
        .temperature = random.NextBelow(5) == 0 ? 0 : 3 * random.NextFloat() + 1e-3F,
        .seed = seed};
    if (random.NextBelow(2) == 0) options.biases = {{static_cast<int32_t>(vocab - 1), 2.5F}};
    const Distribution expected = DistributionForTest(options, logits, history);
    const int32_t id = ChooseId(options, logits, history);
    ASSERT_TRUE(expected.contains(id)) << "seed " << seed << " token " << id;
  }
}

TEST(Sampler, ALargeVocabularyIsDrawnFromLikeASmallOne) {
  const auto logits = RandomLogits(128256, 9, 2);
  for (const SamplingOptions& options : std::vector<SamplingOptions>{
           {}, {.top_k = 0, .top_p = 0.5F, .min_p = 0}, {.top_k = 5000, .top_p = 0.999F}, kPlain}) {
    SamplingOptions varied = options;
    const Distribution expected = DistributionForTest(options, logits, {});
    for (varied.seed = 0; varied.seed < 30; ++varied.seed) {
      ASSERT_TRUE(expected.contains(ChooseId(varied, logits))) << varied.seed;
    }
  }
}

TEST(Sampler, GreedyTakesTheLowestOfEquals) {
  std::vector<float> logits(300, 1.0F);
  EXPECT_EQ(ChooseId(kLikeliest, logits), 0);
  logits[200] = logits[17] = logits[299] = 4.0F;
  EXPECT_EQ(ChooseId(kLikeliest, logits), 17);
  SamplingOptions one = kPlain;
  one.top_k = 1;
  EXPECT_EQ(ChooseId(one, logits), 17);
  SamplingOptions cold = kPlain;
  cold.top_k = 1000;
  cold.temperature = 1e-5F;
  logits[42] = 4.001F;
  for (cold.seed = 0; cold.seed < 50; ++cold.seed) EXPECT_EQ(ChooseId(cold, logits), 42);
}

TEST(Sampler, PenaltiesChangeTheGreedyChoice) {
  const std::vector<float> logits = {3.0F, 2.5F, -1.0F, -0.5F};
  SamplingOptions options = kLikeliest;
  options.repetition_penalty = 2;
  EXPECT_EQ(ChooseId(options, logits, std::vector<int32_t>{0}), 1);
  // The token has left the window, so it has no penalty.
  options.penalty_window = 2;
  EXPECT_EQ(ChooseId(options, logits, std::vector<int32_t>{0, 2, 2}), 0);
  options = kLikeliest;
  options.frequency_penalty = 0.2F;
  EXPECT_EQ(ChooseId(options, logits, std::vector<int32_t>{0, 0}), 0);
  EXPECT_EQ(ChooseId(options, logits, std::vector<int32_t>{0, 0, 0}), 1);
  options = kLikeliest;
  options.presence_penalty = 0.6F;
  EXPECT_EQ(ChooseId(options, logits, std::vector<int32_t>{0, 0}), 1);
  options.biases = {{3, 4.0F}};
  EXPECT_EQ(ChooseId(options, logits), 3);
  // Tokens of another vocabulary in a history do no harm.
  EXPECT_EQ(ChooseId(options, logits, std::vector<int32_t>{-1, 4, 1 << 30}), 3);
}

TEST(Sampler, AChoiceDependsOnNothingElse) {
  const auto logits = RandomLogits(5000, 4);
  const std::vector<int32_t> history = {1, 2, 3};
  SamplingOptions options = {.repetition_penalty = 1.2F, .temperature = 1.5F, .seed = 77};
  std::vector<Choice> choices;
  for (const kernels::Isa isa : kernels::AvailableIsas()) {
    Sampler sampler(options, 5000, isa);
    // Earlier calls of the sampler have no effect.
    for (int i = 0; i < 3; ++i) {
      choices.push_back(sampler.Choose(logits, history).value());
      ASSERT_TRUE(sampler.Choose(RandomLogits(5000, 100 + i), std::vector<int32_t>{4, 5}).ok());
    }
  }
  for (const Choice& choice : choices) EXPECT_EQ(choice, choices[0]);
}

TEST(Sampler, LogprobsAreOfTheRawDistribution) {
  const auto logits = RandomLogits(3000, 6);
  Sampler sampler({.repetition_penalty = 1.5F,
                   .biases = {{7, 100.0F}},
                   .temperature = 0,
                   .logprobs = true,
                   .top_logprobs = 5},
                  3000);
  const Choice choice = sampler.Choose(logits, std::vector<int32_t>{1, 2}).value();
  EXPECT_EQ(choice.id, 7);
  EXPECT_NEAR(choice.logprob, LogprobForTest(logits, 7), 1e-5);
  ASSERT_EQ(choice.top.size(), 5u);
  std::vector<int32_t> ids(3000);
  std::iota(ids.begin(), ids.end(), 0);
  std::ranges::stable_sort(ids, std::greater(), [&](int32_t id) { return logits[id]; });
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(choice.top[i].id, ids[i]);
    EXPECT_NEAR(choice.top[i].logprob, LogprobForTest(logits, ids[i]), 1e-5);
  }
}

TEST(Sampler, MoreLogprobsThanTokensAreAllOfThem) {
  const std::vector<float> logits = {0.0F, -kInfinity, 0.0F};
  Sampler sampler({.temperature = 0, .top_logprobs = 1000}, 3);
  const Choice choice = sampler.Choose(logits, {}).value();
  const float half = std::log(0.5F);
  ASSERT_EQ(choice.top.size(), 2u);
  EXPECT_EQ(choice.top[0].id, 0);
  EXPECT_EQ(choice.top[1].id, 2);
  EXPECT_NEAR(choice.top[1].logprob, half, 1e-6);
}

TEST(Sampler, LogitsThatAreNoNumbersAreErrors) {
  for (const float broken : {std::numeric_limits<float>::quiet_NaN(),
                             -std::numeric_limits<float>::quiet_NaN(), kInfinity}) {
    for (const size_t place : {0, 63, 64, 299}) {
      auto logits = RandomLogits(300, 8);
      logits[place] = broken;
      for (const SamplingOptions& options : {kLikeliest, kPlain, SamplingOptions{}}) {
        const auto choice = Sampler(options, 300).Choose(logits, {});
        ASSERT_FALSE(choice.ok());
        EXPECT_EQ(choice.error().code(), Code::kDataLoss);
        EXPECT_THAT(choice.error().message(), HasSubstr("token " + std::to_string(place)));
      }
    }
  }
}

TEST(Sampler, MinusInfinityIsImpossible) {
  std::vector<float> logits(200, -kInfinity);
  for (const SamplingOptions& options : {kLikeliest, kPlain, SamplingOptions{}}) {
    const auto choice = Sampler(options, 200).Choose(logits, {});
    ASSERT_FALSE(choice.ok());
    EXPECT_EQ(choice.error().code(), Code::kFailedPrecondition);
  }
  logits[150] = -1e30F;
  for (const SamplingOptions& options : {kLikeliest, kPlain, SamplingOptions{}}) {
    EXPECT_EQ(ChooseId(options, logits), 150);
  }
}

TEST(Sampler, HugeLogitsAndPenaltiesDoNotOverflow) {
  std::vector<float> logits = {3e38F, -3e38F, 1.0F};
  SamplingOptions options = kPlain;
  options.repetition_penalty = 0.01F;
  options.frequency_penalty = -100;
  EXPECT_EQ(ChooseId(options, logits, std::vector<int32_t>{0, 1, 2}), 0);
}

TEST(Sampler, AnEditorForbidsTokens) {
  const auto logits = RandomLogits(100, 12);
  const LogitsEditor only_even = [](std::span<const int32_t> history, std::span<float> scores) {
    EXPECT_EQ(history.size(), 2u);
    for (size_t id = 1; id < scores.size(); id += 2) scores[id] = -kInfinity;
  };
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SamplingOptions options = kPlain;
    options.seed = seed;
    Sampler sampler(options, 100, kernels::FastestIsa(), only_even);
    EXPECT_EQ(sampler.Choose(logits, std::vector<int32_t>{1, 2}).value().id % 2, 0);
  }
  Sampler broken(kLikeliest, 100, kernels::FastestIsa(),
                 [](auto, std::span<float> scores) { scores[3] = kInfinity; });
  EXPECT_FALSE(broken.Choose(logits, {}).ok());
}

TEST(CheckSampling, NamesWhatIsWrong) {
  const auto expect = [](const SamplingOptions& options, std::string_view what) {
    const Status checked = CheckSampling(options, 100);
    ASSERT_FALSE(checked.ok()) << what;
    EXPECT_EQ(checked.error().code(), Code::kInvalidArgument);
    EXPECT_THAT(checked.error().message(), HasSubstr(what));
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(CheckSampling({}, 100).ok());
  EXPECT_TRUE(CheckSampling(kLikeliest, 1).ok());
  for (const float bad : {-0.1F, 101.0F, 1e-7F, nan, kInfinity}) {
    expect({.temperature = bad}, "temperature");
  }
  for (const float bad : {0.0F, -0.0F, -0.1F, 1.01F, nan}) {
    expect({.top_p = bad}, "top_p");
    expect({.typical_p = bad}, "typical_p");
  }
  for (const float bad : {-0.1F, 1.01F, nan}) expect({.min_p = bad}, "min_p");
  for (const float bad : {0.0F, -1.0F, kInfinity, nan}) {
    expect({.repetition_penalty = bad}, "repetition_penalty");
  }
  for (const float bad : {-101.0F, kInfinity, nan}) {
    expect({.presence_penalty = bad}, "presence_penalty");
    expect({.frequency_penalty = bad}, "frequency_penalty");
  }
  expect({.biases = {{100, 0.0F}}}, "token 100");
  expect({.biases = {{-1, 0.0F}}}, "token -1");
  expect({.biases = {{5, kInfinity}}}, "token 5");
  expect({.biases = {{5, nan}}}, "token 5");
  expect({.top_logprobs = 1025}, "top_logprobs");
}

}  // namespace
}  // namespace aster::engine
