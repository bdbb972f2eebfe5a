// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/run/chat_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

namespace aster::cli {
namespace {

using testing::HasSubstr;

constexpr uint32_t kVocabSize = 100;

TEST(ChatSettings, OneIsChangedAndTheOthersStay) {
  respond::Settings settings;
  settings.sampling.top_k = 7;
  settings.sampling.seed = 3;
  settings.stops = {"x"};
  const auto changed = WithSetting(settings, "temp", "0.25", kVocabSize).value();
  EXPECT_EQ(changed.sampling.temperature, 0.25F);
  EXPECT_EQ(changed.sampling.top_k, 7u);
  EXPECT_EQ(changed.sampling.seed, 3u);
  EXPECT_EQ(changed.max_tokens, engine::kNoTokenLimit);
  EXPECT_EQ(changed.stops, settings.stops);
  EXPECT_EQ(WithSetting(changed, "tokens", "12", kVocabSize).value().max_tokens, 12u);
  EXPECT_EQ(WithSetting(changed, "seed", "9", kVocabSize).value().sampling.seed, 9u);
}

TEST(ChatSettings, ABiasIsListedReplacedAndRemoved) {
  respond::Settings settings;
  settings.sampling.biases = {{13, -std::numeric_limits<float>::infinity()}, {5, 0.1F}};
  EXPECT_THAT(DescribeSettings(settings), HasSubstr("logit-bias          [13=-inf,5=0.1]\n"));
  const auto biases = [&](const char* name, const char* value) {
    settings = WithSetting(settings, name, value, kVocabSize).value();
    std::vector<std::pair<int32_t, float>> all;
    for (const engine::TokenBias& bias : settings.sampling.biases)
      all.emplace_back(bias.id, bias.bias);
    return all;
  };
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_THAT(biases("logit-bias", "13=2"), ElementsAre(Pair(5, 0.1F), Pair(13, 2)));
  EXPECT_THAT(biases("temp", "1"), ElementsAre(Pair(5, 0.1F), Pair(13, 2)));
  EXPECT_THAT(biases("logit-bias", "5=0"), ElementsAre(Pair(13, 2)));
  EXPECT_THAT(biases("logit-bias", "13=0"), testing::IsEmpty());
  EXPECT_THAT(DescribeSettings(settings), HasSubstr("logit-bias          none\n"));
}

TEST(ChatSettings, WhatIsWrongIsNamed) {
  const respond::Settings settings;
  const auto told = [&](const char* name, const char* value) {
    return WithSetting(settings, name, value, kVocabSize).error().message();
  };
  EXPECT_THAT(told("tmp", "1"), HasSubstr("there is no setting tmp; did you mean temp?"));
  EXPECT_THAT(told("temp", "warm"), HasSubstr("warm"));
  EXPECT_THAT(told("temp", "-1"), HasSubstr("temperature is -1"));
  EXPECT_THAT(told("tokens", "0"), HasSubstr("give 1 or more, not 0"));
  EXPECT_THAT(told("logit-bias", "100=1"), HasSubstr("100"));
}

TEST(ChatSettings, AllAreListed) {
  respond::Settings settings;
  settings.sampling.temperature = 0.5F;
  const std::string text = DescribeSettings(settings);
  for (const std::string& name : SettingNames()) EXPECT_THAT(text, HasSubstr("  " + name + " "));
  EXPECT_THAT(text, HasSubstr("temp                0.5\n"));
  EXPECT_THAT(text, HasSubstr("tokens              none\n"));
}

}  // namespace
}  // namespace aster::cli
