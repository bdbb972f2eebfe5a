// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/draft_ledger.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace aster::conduct {
namespace {

constexpr double kPlainNs = 1e6;

DraftLedger Known() {
  DraftLedger ledger;
  for (int i = 0; i < 3; ++i) ledger.LearnPlain(kPlainNs);
  return ledger;
}

// Draft tokens whenever they may be, of runs that give one token in `run_ns`. What is lost, in
// tokens without.
double LostIn(DraftLedger& ledger, int decisions, double run_ns) {
  double lost = 0;
  for (int i = 0; i < decisions; ++i) {
    if (ledger.MayDraft(0)) {
      ledger.LearnRun(1, run_ns, 0);
      lost += run_ns / kPlainNs - 1;
    } else {
      ledger.LearnPlain(kPlainNs);
    }
  }
  return lost;
}

TEST(DraftLedger, ATokenIsTimedFirst) {
  DraftLedger ledger;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(ledger.MayDraft(0));
    ledger.LearnPlain(kPlainNs);
  }
  EXPECT_TRUE(ledger.MayDraft(0));
}

TEST(DraftLedger, WhereNoTokenCanBeTimedNothingIsCounted) {
  DraftLedger ledger;
  int waited = 0;
  while (!ledger.MayDraft(0)) ++waited;
  EXPECT_EQ(waited, 8);
  for (int i = 0; i < 100; ++i) ledger.LearnRun(1, 9 * kPlainNs, 0);
  EXPECT_TRUE(ledger.MayDraft(0));
}

TEST(DraftLedger, WhatIsLostIsBounded) {
  for (const double run_ns : {1.05e6, 1.3e6, 2e6, 4.9e6}) {
    for (const int decisions : {100, 1000, 10000}) {
      DraftLedger ledger = Known();
      const double step = run_ns / kPlainNs - 1;
      EXPECT_LT(LostIn(ledger, decisions, run_ns), 4 + 0.01 * decisions + step) << run_ns;
    }
  }
}

TEST(DraftLedger, WhatIsGainedMayBeLostAndNotMuchMore) {
  DraftLedger ledger = Known();
  for (int i = 0; i < 1000; ++i) ledger.LearnRun(3, 2 * kPlainNs, 0);
  EXPECT_LT(LostIn(ledger, 300, 1.5 * kPlainNs), 20);
  EXPECT_GT(LostIn(ledger, 300, 1.5 * kPlainNs), 0) << "a little is lent all the time";
}

TEST(DraftLedger, OneThatWasHeldUpCostsLittle) {
  DraftLedger ledger = Known();
  for (int i = 0; i < 5; ++i) ledger.LearnRun(2, kPlainNs, 0);
  ledger.LearnRun(1, 1000 * kPlainNs, 0);
  EXPECT_TRUE(ledger.MayDraft(0));
  // Nor does a token without draft tokens that was held up make them look cheap.
  ledger.LearnPlain(1000 * kPlainNs);
  EXPECT_LT(LostIn(ledger, 1000, 2 * kPlainNs), 25);
}

TEST(DraftLedger, BeginningsArePaidForBeforeTheyAreMade) {
  DraftLedger ledger = Known();
  const double begin_ns = 6 * kPlainNs;
  EXPECT_TRUE(ledger.MayDraft(begin_ns)) << "the first one is nobody's";
  ledger.LearnRun(1, begin_ns + kPlainNs, begin_ns);
  EXPECT_FALSE(ledger.MayDraft(begin_ns));
  EXPECT_TRUE(ledger.MayDraft(0));
  for (int i = 0; i < 5; ++i) ledger.LearnRun(2, kPlainNs, 0);
  EXPECT_TRUE(ledger.MayDraft(begin_ns));
  ledger.LearnRun(1, begin_ns + kPlainNs, begin_ns);
  EXPECT_FALSE(ledger.MayDraft(begin_ns));
}

TEST(DraftLedger, TimesThatVaryAloneStopNothingThatGains) {
  Random random(3);
  DraftLedger ledger;
  // One in five takes three times as long.
  const auto varied = [&](double ns) { return random.NextBelow(5) == 0 ? 3 * ns : ns; };
  int runs = 0;
  for (int i = 0; i < 4000; ++i) {
    if (i % 32 != 0 && ledger.MayDraft(0)) {
      ++runs;
      ledger.LearnRun(2, varied(1.5 * kPlainNs), 0);
    } else {
      ledger.LearnPlain(varied(kPlainNs));
    }
  }
  EXPECT_GT(runs, 3600);
}

}  // namespace
}  // namespace aster::conduct
