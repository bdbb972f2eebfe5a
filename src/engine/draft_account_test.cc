// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/draft_account.h"

#include <gtest/gtest.h>

namespace aster::engine {
namespace {

TEST(DraftAccount, HoldsALittleAtFirstAndMoreWithEachStepWithoutDraftTokens) {
  DraftAccount account;
  EXPECT_TRUE(account.CanPay(3.9));
  EXPECT_FALSE(account.CanPay(4));
  account.Add(-4, 0);
  EXPECT_FALSE(account.CanPay(0));
  EXPECT_EQ(account.StepsUntilItCanPay(0), 1u);
  account.Lend(1);
  EXPECT_TRUE(account.CanPay(0));
  EXPECT_EQ(account.StepsUntilItCanPay(0), 0u);
  EXPECT_NEAR(account.StepsUntilItCanPay(1), 100, 1);
  account.Lend(100);
  EXPECT_TRUE(account.CanPay(1));
}

TEST(DraftAccount, KeepsAsMuchAsBeginningsCost) {
  DraftAccount account;
  for (int i = 0; i < 100; ++i) account.Add(1, 0);
  EXPECT_TRUE(account.CanPay(15.9));
  EXPECT_FALSE(account.CanPay(16));
  for (int i = 0; i < 100; ++i) account.Add(1, 10);
  EXPECT_TRUE(account.CanPay(39.9));
  EXPECT_FALSE(account.CanPay(40));
  // What is there stays where beginnings are cheap again, and does not grow.
  account.Add(1, 0);
  account.Lend(1000);
  EXPECT_TRUE(account.CanPay(39.9));
  EXPECT_FALSE(account.CanPay(40));
  account.Add(-30, 0);
  account.Add(100, 0);
  EXPECT_FALSE(account.CanPay(16));
}

TEST(DraftAccount, PlentyIsLessThanWhatItBeginsWith) {
  DraftAccount account;
  EXPECT_TRUE(account.has_plenty());
  account.Add(-2.1, 0);
  EXPECT_FALSE(account.has_plenty());
}

}  // namespace
}  // namespace aster::engine
