// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/kv_costs.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "conduct/parts_for_test.h"

namespace aster::conduct {
namespace {

TEST(KvCosts, MeasuredRatesReplacePlannedOnes) {
  KvCosts costs(wire::RowEncoding::kF32, /*planned_tokens_per_s=*/100, [] {
    return std::vector<KvPeer>{{.node = plan::TestNodes(1)[0], .bytes_per_s = 5e6}};
  });
  const wire::NodeId known = plan::TestNode(1), other = plan::TestNode(2);
  EXPECT_EQ(costs.BytesPerSecond(known), 5e6);
  EXPECT_EQ(costs.BytesPerSecond(other), 0);
  EXPECT_DOUBLE_EQ(costs.SecondsToCompute(200), 2);
  costs.LearnTransfer(known, 8e6, 2 * kNsPerSecond);
  costs.LearnTransfer(other, 9e6, kNsPerSecond);
  costs.LearnPrefill(1000, kNsPerSecond);
  EXPECT_EQ(costs.BytesPerSecond(known), 4e6);
  EXPECT_EQ(costs.BytesPerSecond(other), 9e6);
  EXPECT_DOUBLE_EQ(costs.SecondsToCompute(200), 0.2);
}

TEST(KvCosts, LittleSaysNothingAboutRates) {
  KvCosts costs(wire::RowEncoding::kF32, 0, nullptr);
  const wire::NodeId node = plan::TestNode(1);
  costs.LearnTransfer(node, 1e5, kNsPerSecond);
  costs.LearnTransfer(node, 1e8, 0);
  costs.LearnPrefill(127, kNsPerSecond);
  costs.LearnPrefill(1000, 0);
  EXPECT_EQ(costs.BytesPerSecond(node), 0);
  EXPECT_EQ(costs.SecondsToCompute(200), 0);
}

TEST(KvCosts, RowsInFewerBitsAndOfWindowsTakeLess) {
  RecordingNetwork network;
  const auto plain = ReadyRoute(network, "a");
  RouteOptions options;
  options.memory = {.window = 16, .sinks = 4};
  const auto window = ReadyRoute(network, "a", options);
  const KvCosts exact(wire::RowEncoding::kF32, 0, nullptr);
  const KvCosts small(wire::RowEncoding::kQ8, 0, nullptr);
  const double whole = exact.BytesPerPosition(plain->layout(), {0, 4});
  // Keys and values of 64 numbers in f16, in each layer.
  EXPECT_EQ(whole, 4 * 64 * 2 * 2);
  EXPECT_EQ(exact.BytesPerPosition(plain->layout(), {1, 3}), whole / 2);
  EXPECT_LT(small.BytesPerPosition(plain->layout(), {0, 4}), whole * 0.6);
  EXPECT_LT(exact.BytesPerPosition(window->layout(), {0, 4}), whole);
}

}  // namespace
}  // namespace aster::conduct
