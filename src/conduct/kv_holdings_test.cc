// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/kv_holdings.h"

#include <gtest/gtest.h>

#include "plan/model_for_test.h"

namespace aster::conduct {
namespace {

TEST(KvHoldings, TheStageItselfComesFirstThenTheSameNodeThenTheFastest) {
  const auto nodes = plan::TestNodes(4);
  KvHoldings holdings(1, 4);
  for (const plan::PlanNode& node : nodes) holdings.Ask(node.id);
  holdings.Take(nodes[0].id, {.query = 1, .held = {{0, 1, 512}}});
  holdings.Take(nodes[1].id, {.query = 1, .held = {{0, 4, 384}, {7, 9, 1000}}});
  holdings.Take(nodes[2].id, {.query = 1, .held = {{1, 4, 640}}});
  holdings.MarkUnreachable(nodes[3].id);
  EXPECT_TRUE(holdings.silent().empty());
  const std::vector<KvDestination> destinations = {
      {.node = nodes[0].id, .layers = {0, 2}, .held = 0},
      {.node = nodes[3].id, .layers = {2, 4}, .held = 128}};
  const auto rate = [&](const wire::NodeId& node) { return node == nodes[1].id ? 2e6 : 1e6; };
  const auto bytes = [](kv::LayerRange layers) { return 100.0 * layers.size(); };
  const KvSources sources = holdings.Choose(destinations, 896, rate, bytes);
  EXPECT_EQ(sources.end, 512u);
  ASSERT_EQ(sources.fetches.size(), 3u);
  EXPECT_EQ(sources.fetches[0].from, nodes[0].id);
  EXPECT_EQ(sources.fetches[1].from, nodes[2].id);
  EXPECT_EQ(sources.fetches[1].layers, (kv::LayerRange{1, 2}));
  EXPECT_EQ(sources.fetches[2].destination, 1u);
  EXPECT_EQ(sources.fetches[2].layers, (kv::LayerRange{2, 4}));
  EXPECT_EQ(sources.bytes, 512u * 100 + 384 * 200);
  EXPECT_DOUBLE_EQ(sources.seconds, (512 * 100 + 384 * 200) / 1e6);
  EXPECT_EQ(holdings.Choose(destinations, 384, rate, bytes).fetches[1].from, nodes[1].id);
  EXPECT_EQ(holdings.Choose({}, 0, rate, bytes).fetches.size(), 0u);
}

// Nodes send whole pages, and a stage's own rows may end within one.
TEST(KvHoldings, EndsWithAFullPage) {
  KvHoldings holdings(1, 4);
  holdings.Take(plan::TestNode(1), {.query = 1, .held = {{0, 2, 512}}});
  const std::vector<KvDestination> destinations = {
      {.node = plan::TestNode(2), .layers = {0, 2}, .held = 0},
      {.node = plan::TestNode(3), .layers = {2, 4}, .held = 200}};
  const auto rate = [](const wire::NodeId&) { return 0.0; };
  const auto bytes = [](kv::LayerRange layers) { return 100.0 * layers.size(); };
  const KvSources sources = holdings.Choose(destinations, 512, rate, bytes);
  EXPECT_EQ(sources.end, 128u);
  ASSERT_EQ(sources.fetches.size(), 1u);
  EXPECT_EQ(sources.fetches[0].layers, (kv::LayerRange{0, 2}));
}

}  // namespace
}  // namespace aster::conduct
