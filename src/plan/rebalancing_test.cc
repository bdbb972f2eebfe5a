// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/rebalancing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "base/random.h"
#include "plan/model_for_test.h"
#include "plan/node_paces.h"
#include "plan/planner.h"

namespace aster::plan {
namespace {

constexpr int64_t kSecond = kNsPerSecond;

Rebalancing::Offer Better(double gain = 0.5) {
  return {.current = "a=0:out", .best = "b=0:out", .current_s = 1, .best_s = 1 - gain};
}

TEST(Rebalancing, AGainMustLast) {
  Rebalancing policy;
  EXPECT_FALSE(policy.Observe(10 * kSecond, Better()));
  EXPECT_FALSE(policy.Observe(11 * kSecond, Better()));
  // The gain was absent for a moment.
  EXPECT_FALSE(policy.Observe(12 * kSecond, Better(0.1)));
  EXPECT_FALSE(policy.Observe(13 * kSecond, Better()));
  EXPECT_FALSE(policy.Observe(14 * kSecond, Better()));
  EXPECT_TRUE(policy.Observe(15 * kSecond, Better()));
}

TEST(Rebalancing, ASmallGainIsNone) {
  Rebalancing policy;
  for (int64_t now = 0; now < 100; ++now) EXPECT_FALSE(policy.Observe(now * kSecond, Better(0.14)));
  // The same plan never takes over, whatever its predicted time.
  Rebalancing::Offer same = Better();
  same.best = same.current;
  for (int64_t now = 100; now < 200; ++now) EXPECT_FALSE(policy.Observe(now * kSecond, same));
}

TEST(Rebalancing, APlanThatCannotRunIsLeft) {
  Rebalancing policy;
  Rebalancing::Offer offer = Better();
  offer.current_s = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(policy.Observe(0, offer));
  EXPECT_TRUE(policy.Observe(2 * kSecond, offer));
}

TEST(Rebalancing, RunningRequestsWaitOnlyForWhatPays) {
  Rebalancing policy;
  Rebalancing::Offer offer = Better(0.2);
  offer.is_busy = true;
  offer.change_ns = 13 * kSecond;  // 12 s are gained in a minute
  for (int64_t now = 0; now < 60; ++now) EXPECT_FALSE(policy.Observe(now * kSecond, offer));
  offer.is_busy = false;
  EXPECT_TRUE(policy.Observe(60 * kSecond, offer));
}

TEST(Rebalancing, GoingBackTakesLongerEachTime) {
  Rebalancing policy;
  std::vector<int64_t> changes;
  bool is_there = false;
  for (int64_t now = 0; now < 3600; ++now) {
    Rebalancing::Offer offer = Better();
    if (is_there) std::swap(offer.current, offer.best);
    if (!policy.Observe(now * kSecond, offer)) continue;
    is_there = !is_there;
    changes.push_back(now);
  }
  EXPECT_LE(changes.size(), 11u);
  ASSERT_GE(changes.size(), 4u);
  EXPECT_EQ(changes[1] - changes[0], 20);
  EXPECT_EQ(changes[2] - changes[1], 40);
  EXPECT_EQ(changes[3] - changes[2], 80);
}

// Simulated machines that change, with the real planner, in steps of a second.
class Life {
 public:
  explicit Life(size_t nodes) : here_(nodes, true), pace_(nodes, 1.0) {
    const std::vector<PlanNode> names = TestNodes(nodes);
    for (const PlanNode& node : names) {
      nodes_.push_back({.node = node,
                        .memory_bytes = uint64_t{1} << 40,
                        .multiply_flops_per_s = 1e12,
                        .memory_bytes_per_s = 1e10});
    }
    load_.layers.resize(32, {uint64_t{100} << 20, 1e8});
    load_.head_bytes = load_.embedding_bytes = uint64_t{50} << 20;
    load_.flops_per_layer = 2e8;
    load_.row_bytes = 16384;
    load_.context = 4096;
  }

  // Runs until that time; calls `happens` each second.
  void Run(int64_t until, const std::function<void(int64_t)>& happens = nullptr) {
    for (; now_ < until; ++now_) {
      if (happens) happens(now_);
      Step();
    }
  }

  void SetHere(size_t node, bool is_here) { here_[node] = is_here; }
  void SetPace(size_t node, double pace) { pace_[node] = pace; }
  uint32_t LayersOf(size_t node) const {
    const auto stage = Find(node);
    return stage == plan_.stages.end() ? 0 : stage->slice.layer_end - stage->slice.layer_begin;
  }
  // Plans that replaced one that still worked, and one that had failed.
  size_t changes() const { return changes_; }
  size_t failures() const { return failures_; }

 private:
  std::vector<PlanStage>::const_iterator Find(size_t node) const {
    return std::ranges::find(plan_.stages, nodes_[node].node.id,
                             [](const PlanStage& stage) { return stage.node.id; });
  }

  void Step() {
    std::vector<NodeAbility> able;
    bool is_broken = plan_.stages.empty();
    Measure();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      is_broken |= !here_[i] && LayersOf(i) > 0;
      if (!here_[i]) continue;
      const double pace = paces_.Of(nodes_[i].node.id, now_ * kSecond);
      able.push_back(nodes_[i]);
      able.back().multiply_flops_per_s *= pace;
      able.back().memory_bytes_per_s *= pace;
    }
    const SplitPlan& best = PlanFor(able);
    if (is_broken) {
      failures_ += plan_.stages.empty() ? 0 : 1;
      plan_ = best.plan;
      return;
    }
    const auto current = PredictPlan(able, {}, load_, {}, plan_);
    const Rebalancing::Offer offer{.current = SplitText(plan_),
                                   .best = SplitText(best.plan),
                                   .current_s = 1 / current.value().prefill_tokens_per_s,
                                   .best_s = 1 / best.prefill_tokens_per_s,
                                   .is_busy = true,
                                   .change_ns = kSecond};
    if (!policy_.Observe(now_ * kSecond, offer)) return;
    ++changes_;
    plan_ = best.plan;
  }

  // The planner runs once for each state of the nodes.
  const SplitPlan& PlanFor(const std::vector<NodeAbility>& able) {
    std::vector<std::pair<uint64_t, double>> key;
    for (const NodeAbility& node : able)
      key.emplace_back(node.node.id.value.low, node.memory_bytes_per_s);
    const auto found = plans_.find(key);
    if (found != plans_.end()) return found->second;
    SplitPlan split = PlanSplit(able, {}, load_, {.compares = false}).value();
    return plans_.emplace(std::move(key), std::move(split)).first->second;
  }

  // The nodes' times: the predicted ones, longer by up to a tenth, and all longer as texts grow.
  void Measure() {
    std::vector<NodePaces::Seen> all;
    const double grown = 1 + 0.3 * static_cast<double>(now_ % 300) / 300;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!here_[i] || LayersOf(i) == 0) continue;
      const double noise = 1 + 0.1 * static_cast<double>(random_.NextBelow(1000)) / 1000;
      all.push_back({.node = nodes_[i].node.id, .kind = 1, .ratio = grown * noise / pace_[i]});
    }
    if (!all.empty()) paces_.Observe(all, now_ * kSecond);
  }

  Random random_{3};
  std::vector<NodeAbility> nodes_;
  ModelLoad load_;
  std::vector<bool> here_;
  std::vector<double> pace_;  // the true share of each node's rates
  NodePaces paces_;
  Rebalancing policy_;
  std::map<std::vector<std::pair<uint64_t, double>>, SplitPlan> plans_;
  Plan plan_;
  int64_t now_ = 0;
  size_t changes_ = 0;
  size_t failures_ = 0;
};

TEST(RebalancingLife, NothingHappensInAnHour) {
  Life life(4);
  life.Run(3600);
  EXPECT_EQ(life.changes(), 0u);
  for (size_t node = 0; node < 4; ++node) EXPECT_EQ(life.LayersOf(node), 8u);
}

TEST(RebalancingLife, ANodeThatJoinsIsUsedWithin5Seconds) {
  Life life(2);
  life.SetHere(1, false);
  life.Run(100);
  EXPECT_EQ(life.LayersOf(1), 0u);
  life.SetHere(1, true);
  life.Run(105);
  EXPECT_EQ(life.LayersOf(1), 16u);
  EXPECT_EQ(life.changes(), 1u);
  // A node that comes back.
  life.SetHere(1, false);
  life.Run(200);
  life.SetHere(1, true);
  life.Run(205);
  EXPECT_EQ(life.LayersOf(1), 16u);
}

TEST(RebalancingLife, ANodeThatSlowsToHalfIsRelievedWithin30Seconds) {
  Life life(2);
  life.Run(100);
  EXPECT_EQ(life.LayersOf(1), 16u);
  life.SetPace(1, 0.5);
  life.Run(130);
  EXPECT_LE(life.LayersOf(1), 12u);
  EXPECT_GE(life.LayersOf(1), 9u);
  // The plan stays so as long as the node is slow.
  life.Run(1000);
  EXPECT_EQ(life.changes(), 1u);
  life.SetPace(1, 1);
  life.Run(1030);
  EXPECT_EQ(life.LayersOf(1), 16u);
}

TEST(NodePaces, WhatAllTakeLongerIsNoNodes) {
  NodePaces paces;
  const wire::NodeId a{{1, 1}}, b{{2, 2}};
  const auto observe = [&](double of_a, double of_b, uint32_t kind = 1) {
    const NodePaces::Seen all[] = {{a, kind, of_a}, {b, kind, of_b}};
    paces.Observe(all, 0);
  };
  observe(1.5, 2);
  observe(4.5, 6);
  EXPECT_EQ(paces.Of(a, 0), 1);
  EXPECT_EQ(paces.Of(b, 0), 1);
  // Another kind of work has times of its own.
  observe(9, 30, /*kind=*/2);
  EXPECT_EQ(paces.Of(b, 0), 1);
  observe(1.5, 4);
  EXPECT_EQ(paces.Of(a, 0), 1);
  EXPECT_DOUBLE_EQ(paces.Of(b, 0), 0.5);
  // Small changes are ignored.
  observe(1.5, 3.2);
  EXPECT_DOUBLE_EQ(paces.Of(b, 0), 0.5);
  observe(1.5, 2.1);
  EXPECT_EQ(paces.Of(b, 0), 1);
}

TEST(NodePaces, OneThatIsNotSeenIsTriedAgainLaterEachTime) {
  NodePaces paces;
  const wire::NodeId a{{1, 1}};
  const auto observe = [&](double ratio, int64_t second) {
    const NodePaces::Seen all[] = {{a, 1, ratio}};
    paces.Observe(all, second * kSecond);
  };
  observe(1, 0);
  observe(4, 1);
  EXPECT_DOUBLE_EQ(paces.Of(a, 60 * kSecond), 0.25);
  EXPECT_EQ(paces.Of(a, 61 * kSecond), 1);
  observe(4, 62);
  EXPECT_DOUBLE_EQ(paces.Of(a, 181 * kSecond), 0.25);
  EXPECT_EQ(paces.Of(a, 182 * kSecond), 1);
}

// A node that is almost unusable is left out, so it is not observed: it is tried again, less and
// less often.
TEST(RebalancingLife, ANodeThatIsLeftOutIsTriedAgain) {
  Life life(2);
  life.Run(100);
  life.SetPace(1, 0.02);
  life.Run(130);
  EXPECT_EQ(life.LayersOf(1), 0u);
  life.Run(3700);
  EXPECT_GE(life.changes(), 3u);
  EXPECT_LE(life.changes(), 12u);
  life.SetPace(1, 1);
  life.Run(8000);
  EXPECT_EQ(life.LayersOf(1), 16u);
}

TEST(RebalancingLife, NothingOscillates) {
  // The node is slow and fast in turns.
  Life slow(3);
  slow.Run(3600, [&](int64_t now) { slow.SetPace(1, now / 15 % 2 == 0 ? 1 : 0.4); });
  EXPECT_LE(slow.changes(), 12u);
  // A node leaves and returns: each time it leaves is a failure, which the policy cannot avoid; it
  // is used again less and less often.
  Life gone(3);
  gone.Run(3600, [&](int64_t now) { gone.SetHere(1, now / 10 % 2 == 0); });
  EXPECT_LE(gone.changes(), 12u);
  EXPECT_LE(gone.failures(), 13u);
  // Everything happens at once.
  Life wild(4);
  Random random(9);
  wild.Run(1800, [&](int64_t now) {
    if (now % 7 != 0) return;
    const size_t node = 1 + random.NextBelow(3);
    wild.SetHere(node, random.NextBelow(4) != 0);
    wild.SetPace(node, random.NextBelow(2) == 0 ? 1 : 0.3);
  });
  EXPECT_LE(wild.changes(), 20u);
}

}  // namespace
}  // namespace aster::plan
