// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/mixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace aster::ensemble {
namespace {

double Mixed(const std::vector<double>& log_probabilities, const std::vector<double>& weights) {
  return MixedLogProbability(log_probabilities, weights);
}

TEST(Mixture, IsAMeanOfProbabilities) {
  EXPECT_NEAR(Mixed({std::log(0.5), std::log(0.1)}, {1, 1}), std::log(0.3), 1e-12);
  EXPECT_NEAR(Mixed({std::log(0.5), std::log(0.1)}, {3, 1}), std::log(0.4), 1e-12);
}

TEST(Mixture, AMemberOfAllTheWeightIsTheMixtureAsBits) {
  EXPECT_EQ(Mixed({-1234.5678, -2}, {1, 0}), -1234.5678);
  EXPECT_EQ(Mixed({-3.25, kImpossible}, {0.7, 0}), -3.25);
}

TEST(Mixture, TheSameModelTwiceIsThatModelAsBits) {
  for (const double chance : {-0.001, -3.0, -777.7}) {
    EXPECT_EQ(Mixed({chance, chance}, {1, 1}), chance);
    EXPECT_EQ(Mixed({chance, chance, chance, chance}, {1, 1, 1, 1}), chance);
  }
}

TEST(Mixture, ProbabilitiesTooSmallForANumberAreStillCompared) {
  EXPECT_NEAR(Mixed({-5000, -5001}, {1, 1}), -5000 + std::log((1 + std::exp(-1.0)) / 2), 1e-9);
}

TEST(Mixture, AMemberThatSaysNothingCostsItsWeight) {
  EXPECT_NEAR(Mixed({-2, kImpossible}, {1, 1}), -2 + std::log(0.5), 1e-12);
  EXPECT_EQ(Mixed({kImpossible, kImpossible}, {1, 1}), kImpossible);
}

TEST(Mixture, BitsAreOfBytes) {
  EXPECT_NEAR(BitsPerByte(std::log(1.0 / 256), 4), 2, 1e-12);
  EXPECT_EQ(BitsPerByte(kImpossible, 3), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace aster::ensemble
