// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/routing.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "kernels/ops_test_support.h"

namespace aster::kernels {
namespace {

using testing::ElementsAre;

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

std::vector<int32_t> Select(const std::vector<float>& scores, size_t chosen,
                            const float* bias = nullptr) {
  std::vector<int32_t> ids(chosen, -1);
  SelectExperts(scores.data(), bias, scores.size(), chosen, ids.data());
  return ids;
}

TEST(RoutingTest, EqualScoresGoToTheLowestIndex) {
  EXPECT_THAT(Select({1, 2, 2, 1, 2}, 2), ElementsAre(1, 2));
  EXPECT_THAT(Select({1, 2, 2, 1, 2}, 4), ElementsAre(1, 2, 4, 0));
  EXPECT_THAT(Select({0, 0, 0}, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(Select({5}, 0), ElementsAre());
}

TEST(RoutingTest, NanIsChosenLastAndIdsStayDistinct) {
  EXPECT_THAT(Select({kNotANumber, 1, kNotANumber, -kInfinite}, 3), ElementsAre(1, 0, 2));
  EXPECT_THAT(Select({kNotANumber, kNotANumber}, 2), ElementsAre(0, 1));
}

TEST(RoutingTest, BiasCountsForTheChoiceOnly) {
  const float bias[] = {0.0f, 10.0f, 0.0f};
  const std::vector<float> scores = {0.5f, 0.1f, 0.3f};
  const auto ids = Select(scores, 2, bias);
  EXPECT_THAT(ids, ElementsAre(1, 0));
  std::vector<float> weights(2);
  RouterWeights({.normalized = true, .scale = 2.0f}, scores.data(), ids.data(), 2, weights.data());
  EXPECT_THAT(weights, ElementsAre(testing::FloatEq(2.0f * 0.1f / 0.6f),
                                   testing::FloatEq(2.0f * 0.5f / 0.6f)));
  RouterWeights({.scale = 2.0f}, scores.data(), ids.data(), 2, weights.data());
  EXPECT_THAT(weights, ElementsAre(0.2f, 1.0f));
}

TEST(RoutingTest, VanishingSumsAreHeldAtTheFloor) {
  const std::vector<float> scores = {0x1p-20f, 0.0f};
  const int32_t ids[] = {0, 1};
  std::vector<float> weights(2);
  RouterWeights({.normalized = true}, scores.data(), ids, 2, weights.data());
  EXPECT_THAT(weights, ElementsAre(0x1p-6f, 0.0f));
}

TEST(RoutingTest, SelectionIsAStableSort) {
  Random random(3);
  for (size_t experts = 1; experts <= 300; experts += 7) {
    std::vector<float> scores(experts);
    for (float& score : scores) score = static_cast<float>(random.NextBelow(20));
    std::vector<int32_t> order(experts);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return scores[a] > scores[b]; });
    const size_t chosen = std::min<size_t>(experts, 1 + experts / 9);
    order.resize(chosen);
    EXPECT_EQ(Select(scores, chosen), order);
  }
}

// The definition: experts are chosen from all those of the best groups.
TEST(RoutingTest, GroupsAreChosenBeforeExperts) {
  Random random(5);
  for (const uint32_t groups : {1u, 2u, 8u, 64u}) {
    const size_t size = 4, experts = groups * size;
    const RoutingSpec spec{.groups = groups, .used_groups = (groups + 1) / 2};
    for (const bool has_bias : {false, true}) {
      std::vector<float> scores(experts), bias(experts), keys(experts);
      for (size_t i = 0; i < experts; ++i) {
        scores[i] = static_cast<float>(random.NextBelow(12));
        bias[i] = has_bias ? static_cast<float>(random.NextBelow(5)) : 0.0f;
        keys[i] = scores[i] + bias[i];
      }
      std::vector<std::pair<float, int>> ranks;  // negative: the largest first
      for (uint32_t group = 0; group < groups; ++group) {
        std::vector<float> own(keys.begin() + static_cast<ptrdiff_t>(group * size),
                               keys.begin() + static_cast<ptrdiff_t>((group + 1) * size));
        std::ranges::sort(own, std::greater());
        ranks.emplace_back(has_bias ? -own[0] - own[1] : -own[0], group);
      }
      std::ranges::sort(ranks);
      std::vector<int32_t> order;
      for (uint32_t i = 0; i < spec.used_groups; ++i)
        for (size_t k = 0; k < size; ++k)
          order.push_back(static_cast<int32_t>(ranks[i].second * size + k));
      std::ranges::sort(order);
      std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return keys[a] > keys[b]; });
      order.resize(std::min<size_t>(3, order.size()));
      std::vector<int32_t> ids(order.size());
      SelectGroupedExperts(spec, scores.data(), has_bias ? bias.data() : nullptr, experts,
                           ids.size(), ids.data());
      EXPECT_EQ(ids, order) << groups << " groups, bias " << has_bias;
    }
  }
}

TEST(RoutingTest, AGroupOfWhichNothingIsANumberIsChosenLast) {
  const std::vector<float> scores = {kNotANumber, kInfinite, 1, 0, kNotANumber, kNotANumber, 0, 0};
  const std::vector<float> bias(8);
  const RoutingSpec spec{.groups = 4, .used_groups = 2};
  std::vector<int32_t> ids(2);
  SelectGroupedExperts(spec, scores.data(), bias.data(), 8, 2, ids.data());
  // Infinity plus NaN is NaN: the same result as with the third group.
  EXPECT_THAT(ids, ElementsAre(2, 3));
}

class RouterScoresTest : public IsaTest {};

TEST_P(RouterScoresTest, EveryFunctionIsTheOneNamed) {
  const std::vector<float> logits = {-3.0f, 0.0f, 2.0f, 25.0f};
  std::vector<float> scores(4);
  const OpsTable& ops = Ops(GetParam());
  RouterScores(ops, RouterScore::kSigmoid, logits.data(), 4, scores.data());
  EXPECT_NEAR(scores[0], 1 / (1 + std::exp(3.0)), 1e-7);
  RouterScores(ops, RouterScore::kSqrtSoftplus, logits.data(), 4, scores.data());
  EXPECT_NEAR(scores[2], std::sqrt(std::log1p(std::exp(2.0))), 1e-6);
  EXPECT_NEAR(scores[3], 5.0, 1e-6);
  RouterScores(ops, RouterScore::kSoftmax, logits.data(), 4, scores.data());
  EXPECT_NEAR(scores[2], std::exp(-23.0), 1e-16);
  EXPECT_NEAR(scores[0] + scores[1] + scores[2] + scores[3], 1.0, 1e-6);
}

INSTANTIATE_FOR_EVERY_ISA(RouterScoresTest);

}  // namespace
}  // namespace aster::kernels
