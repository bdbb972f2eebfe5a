// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/stage_pace.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace aster::conduct {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr int64_t kOldestNs = 10 * kNsPerSecond;

// `count` frames that take the stages the given milliseconds.
void Frames(StagePace& pace, uint32_t rows, std::vector<uint64_t> ms, int count = 5,
            int64_t now_ns = 0) {
  std::vector<wire::Hop> hops;
  for (const uint64_t each : ms) hops.push_back({.compute_ns = each * kMs});
  for (int i = 0; i < count; ++i) pace.Learn(0, rows, /*length=*/100, hops, now_ns);
}

TEST(StagePace, TheMedianOfTheNewestFrames) {
  StagePace pace;
  pace.Reset(2);
  Frames(pace, 1, {20, 30});
  EXPECT_DOUBLE_EQ(pace.Paces(0, kOldestNs)[1].own_ns, 30 * kMs);
  Frames(pace, 1, {20, 900}, /*count=*/2);
  EXPECT_DOUBLE_EQ(pace.Paces(0, kOldestNs)[1].own_ns, 30 * kMs);
  Frames(pace, 1, {20, 60});
  const auto paces = pace.Paces(0, kOldestNs);
  EXPECT_DOUBLE_EQ(paces[0].own_ns, 20 * kMs);
  EXPECT_DOUBLE_EQ(paces[1].own_ns, 60 * kMs);
  EXPECT_EQ(paces[1].others_ns, 0);
}

TEST(StagePace, LongFramesByTheRow) {
  StagePace pace;
  pace.Reset(1);
  Frames(pace, 200, {2000});
  Frames(pace, 250, {2500});
  const StagePace::Pace of_rows = pace.Paces(0, kOldestNs)[0];
  EXPECT_TRUE(StagePace::IsOfRow(of_rows.kind));
  EXPECT_DOUBLE_EQ(of_rows.own_ns, 10 * kMs);
  // Frames of longer texts, and of few rows, are other kinds.
  for (int i = 0; i < 5; ++i)
    pace.Learn(0, 250, /*length=*/5000, std::vector<wire::Hop>{{.compute_ns = 9000 * kMs}}, 0);
  EXPECT_NE(pace.Paces(0, kOldestNs)[0].kind, of_rows.kind);
  Frames(pace, 4, {50});
  EXPECT_FALSE(StagePace::IsOfRow(pace.Paces(0, kOldestNs)[0].kind));
  EXPECT_DOUBLE_EQ(pace.Paces(0, kOldestNs)[0].own_ns, 50 * kMs);
}

TEST(StagePace, OfAGroupTheOthersAreWaitedFor) {
  StagePace pace;
  pace.Reset(1);
  const std::vector<wire::Hop> hops = {{.compute_ns = 44 * kMs, .gather_ns = 24 * kMs}};
  for (int i = 0; i < 5; ++i) pace.Learn(0, 1, /*length=*/100, hops, 0);
  EXPECT_DOUBLE_EQ(pace.Paces(0, kOldestNs)[0].own_ns, 20 * kMs);
  EXPECT_DOUBLE_EQ(pace.Paces(0, kOldestNs)[0].others_ns, 44 * kMs);
}

TEST(StagePace, NothingIsKnownOfTooFewFramesOrOldOnes) {
  StagePace pace;
  pace.Reset(1);
  EXPECT_EQ(pace.Paces(0, kOldestNs)[0].kind, 0u);
  Frames(pace, 1, {20}, /*count=*/4);
  EXPECT_EQ(pace.Paces(0, kOldestNs)[0].kind, 0u);
  Frames(pace, 1, {20}, /*count=*/1);
  EXPECT_NE(pace.Paces(kOldestNs, kOldestNs)[0].kind, 0u);
  EXPECT_EQ(pace.Paces(kOldestNs + 1, kOldestNs)[0].kind, 0u);
  // Another route begins without times.
  pace.Reset(1);
  EXPECT_EQ(pace.Paces(0, kOldestNs)[0].kind, 0u);
  // Impossible times are ignored, and so are more hops than there are stages.
  const std::vector<wire::Hop> wild = {{.compute_ns = 0}, {.compute_ns = 5, .gather_ns = 500}};
  for (int i = 0; i < 8; ++i) pace.Learn(0, 0xffffffff, 0xffffffff, wild, 0);
  EXPECT_EQ(pace.Paces(0, kOldestNs)[0].kind, 0u);
}

}  // namespace
}  // namespace aster::conduct
