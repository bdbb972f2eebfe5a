// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/acceptance_rates.h"

#include <gtest/gtest.h>

namespace aster::engine {
namespace {

TEST(AcceptanceRates, EveryPlaceHasItsOwn) {
  AcceptanceRates rates(0.8F, 0.1F);
  EXPECT_EQ(rates.At(3), 0.8F);
  for (int i = 0; i < 200; ++i) rates.Learn(3, 1);
  EXPECT_GT(rates.At(0), 0.99F);
  EXPECT_LT(rates.At(1), 0.01F);
  EXPECT_EQ(rates.At(2), rates.At(1));  // which was never checked
  EXPECT_EQ(rates.At(kMostDrafts), rates.At(1));
}

TEST(AcceptanceRates, APlaceBeginsWithTheOneBefore) {
  AcceptanceRates rates(0.8F, 0.1F);
  for (int i = 0; i < 200; ++i) rates.Learn(1, 1);
  rates.Learn(2, 1);
  EXPECT_NEAR(rates.At(1), 0.8F, 0.01F);
}

// The initial rate is soon corrected, whatever the weight of later draft tokens is.
TEST(AcceptanceRates, TheFirstOnesAreAnAverage) {
  AcceptanceRates rates(0.8F, 0.01F);
  for (int i = 0; i < 12; ++i) rates.Learn(1, i % 4 == 0 ? 1 : 0);
  EXPECT_NEAR(rates.At(0), (4 * 0.8 + 3) / 16, 0.01);
  for (int i = 0; i < 1000; ++i) rates.Learn(1, 1);
  const float often = rates.At(0);
  rates.Learn(1, 0);
  EXPECT_NEAR(rates.At(0), often - 0.01F, 0.001F);
}

TEST(AcceptanceRates, WhatIsNotCheckedAnyMoreIsForgotten) {
  AcceptanceRates rates(0.8F, 0.1F);
  for (int i = 0; i < 100; ++i) rates.Learn(2, 1);
  EXPECT_LT(rates.At(1), 0.01F);
  for (int i = 0; i < 1000; ++i) rates.Learn(1, 1);
  EXPECT_GT(rates.At(1), 0.9F);
}

TEST(AcceptanceRates, OthersGoOnWithWhatWasLearnt) {
  AcceptanceRates all(0.8F, 0.03F);
  for (int i = 0; i < 500; ++i) all.Learn(2, 1);
  AcceptanceRates one(all, 0.5F);
  EXPECT_EQ(one.At(1), all.At(1));
  one.Learn(2, 2);
  EXPECT_GT(one.At(1), 0.45F);
}

}  // namespace
}  // namespace aster::engine
