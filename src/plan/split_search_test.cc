// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/split_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/random.h"
#include "base/sanitized.h"

namespace aster::plan {
namespace {

// Tries all splits.
class BruteForce {
 public:
  explicit BruteForce(const SplitProblem& problem) : problem_(problem) {}

  struct Found {
    double chunk_s = 0;
    double token_s = 0;
  };

  std::optional<Found> Best() {
    Extend(0);
    if (all_.empty()) return std::nullopt;
    double chunk_s = all_.front().chunk_s;
    for (const Found& found : all_) chunk_s = std::min(chunk_s, found.chunk_s);
    std::optional<Found> best;
    for (const Found& found : all_) {
      if (found.chunk_s > chunk_s * (1 + 1e-9)) continue;
      if (!best || found.token_s < best->token_s) best = found;
    }
    return best;
  }

  // The times of a split; nullopt if it does not fit.
  static std::optional<Found> Cost(const SplitProblem& problem,
                                   const std::vector<SplitAnswer::Part>& parts) {
    Found found;
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto& [node, begin, end] = parts[i];
      const bool has_head = end == problem.layer_count();
      const SplitProblem::Node& able = problem.nodes[node];
      const bool has_own = able.device_layers > 0 && !able.device_shares_memory;
      uint64_t bytes = begin == 0 ? problem.embedding_bytes : 0;
      if (has_head && !has_own) bytes += problem.head_bytes;
      if (begin == 0 && has_head && !has_own) bytes -= problem.shared_bytes;
      uint64_t here = 0;
      for (uint32_t layer = begin; layer < end; ++layer) {
        if (has_own && end - layer <= able.device_layers) continue;
        bytes += problem.bytes_before[layer + 1] - problem.bytes_before[layer];
        ++here;
      }
      // Its share of the KV cache, in whole layers.
      if (bytes + (able.kv_bytes * here + end - begin - 1) / (end - begin) > able.memory_bytes)
        return std::nullopt;
      double chunk_s = has_head ? able.head_s : 0;
      found.token_s += able.extra_s;
      for (uint32_t layer = begin; layer < end; ++layer) {
        const bool is_there = end - layer <= able.device_layers;
        chunk_s += is_there ? able.device_layer_s : able.layer_s;
        found.token_s += (is_there ? able.device_byte_s : able.byte_s) *
                         (problem.reads_before[layer + 1] - problem.reads_before[layer]);
      }
      if (able.device_layers > 0) {
        chunk_s += able.bus_chunk_s;
        found.token_s += able.bus_token_s;
      }
      if (has_head)
        found.token_s +=
            (able.device_layers > 0 ? able.device_byte_s : able.byte_s) * problem.head_reads;
      found.chunk_s = std::max(found.chunk_s, chunk_s);
      if (i == 0) continue;
      found.chunk_s = std::max(found.chunk_s, problem.link(parts[i - 1].node, node).chunk_s);
      found.token_s += problem.link(parts[i - 1].node, node).token_s;
    }
    return found;
  }

 private:
  void Extend(uint32_t begin) {
    if (begin == problem_.layer_count()) {
      if (problem_.all_nodes && parts_.size() < problem_.nodes.size()) return;
      if (const auto found = Cost(problem_, parts_)) all_.push_back(*found);
      return;
    }
    for (size_t node = 0; node < problem_.nodes.size(); ++node) {
      const bool is_used =
          std::ranges::any_of(parts_, [&](const auto& part) { return part.node == node; });
      if (is_used) continue;
      for (uint32_t end = begin + 1; end <= problem_.layer_count(); ++end) {
        if (end < problem_.layer_count() && !problem_.MayBegin(end)) continue;
        parts_.push_back({node, begin, end});
        Extend(end);
        parts_.pop_back();
      }
    }
  }

  const SplitProblem& problem_;
  std::vector<SplitAnswer::Part> parts_;
  std::vector<Found> all_;
};

SplitProblem RandomProblem(Random& random) {
  const size_t nodes = 1 + random.NextBelow(4);
  const uint32_t layers = 1 + random.NextBelow(7);
  // Few different numbers, so that many splits are equally good.
  const auto some = [&](uint32_t below) { return static_cast<double>(random.NextBelow(below)); };
  SplitProblem problem;
  problem.bytes_before = {0};
  problem.reads_before = {0};
  for (uint32_t i = 0; i < layers; ++i) {
    problem.bytes_before.push_back(problem.bytes_before.back() + 1 + random.NextBelow(4));
    problem.reads_before.push_back(problem.reads_before.back() + 1 + some(3));
  }
  problem.embedding_bytes = random.NextBelow(4);
  problem.head_bytes = random.NextBelow(4);
  problem.shared_bytes =
      random.NextBelow(2) * std::min(problem.embedding_bytes, problem.head_bytes);
  problem.head_reads = some(4);
  const bool alike = random.NextBelow(3) == 0;
  for (size_t i = 0; i < nodes; ++i) {
    problem.nodes.push_back({.memory_bytes = random.NextBelow(25),
                             .kv_bytes = random.NextBelow(5),
                             .layer_s = 1 + some(3),
                             .head_s = some(3),
                             .byte_s = 0.5 + some(3),
                             .extra_s = some(2)});
    if (random.NextBelow(3) == 0) {
      SplitProblem::Node& node = problem.nodes.back();
      node.device_layers = 1 + random.NextBelow(4);
      node.device_shares_memory = random.NextBelow(4) == 0;
      node.device_layer_s = 0.25 + some(2);
      node.device_byte_s = 0.25 + some(2);
      node.bus_chunk_s = some(3);
      node.bus_token_s = some(3);
    }
    if (alike) problem.nodes.back() = problem.nodes.front();
  }
  const bool has_links = random.NextBelow(2) == 0;
  for (size_t i = 0; i < nodes * nodes; ++i) {
    problem.links.push_back(has_links ? SplitProblem::Link{some(12), some(3)}
                                      : SplitProblem::Link{});
  }
  problem.all_nodes = random.NextBelow(3) == 0;
  if (random.NextBelow(3) == 0) {
    for (uint32_t i = 0; i < layers; ++i)
      problem.may_begin.push_back(i == 0 || random.NextBelow(2) == 0);
  }
  return problem;
}

TEST(SplitSearch, FindsTheBestThereIs) {
  Random random(7);
  int solved = 0;
  for (int round = 0; round < 3000; ++round) {
    const SplitProblem problem = RandomProblem(random);
    const auto expected = BruteForce(problem).Best();
    const auto answer = SearchSplit(problem);
    ASSERT_EQ(answer.has_value(), expected.has_value()) << "round " << round;
    if (!answer) continue;
    ++solved;
    EXPECT_DOUBLE_EQ(answer->chunk_s, expected->chunk_s) << "round " << round;
    EXPECT_DOUBLE_EQ(answer->token_s, expected->token_s) << "round " << round;
    // The stated times are right, too.
    const auto cost = BruteForce::Cost(problem, answer->parts);
    ASSERT_TRUE(cost.has_value());
    EXPECT_DOUBLE_EQ(cost->chunk_s, answer->chunk_s);
    EXPECT_DOUBLE_EQ(cost->token_s, answer->token_s);
    EXPECT_EQ(answer->parts.front().begin, 0);
    EXPECT_EQ(answer->parts.back().end, problem.layer_count());
    for (size_t i = 1; i < answer->parts.size(); ++i) {
      EXPECT_EQ(answer->parts[i].begin, answer->parts[i - 1].end);
    }
  }
  EXPECT_GT(solved, 1000);
}

// With too many nodes to try all orders, the answer is close to the best possible.
TEST(SplitSearch, ManyNodesShareWell) {
  Random random(8);
  for (int round = 0; round < 20; ++round) {
    SplitProblem problem;
    for (uint32_t i = 0; i <= 80; ++i) {
      problem.bytes_before.push_back(i);
      problem.reads_before.push_back(i);
    }
    double speed = 0;
    for (int i = 0; i < 9; ++i) {
      const double layer_s = 1 + random.NextBelow(100) * 0.01;
      speed += 1 / layer_s;
      problem.nodes.push_back({.memory_bytes = 100, .layer_s = layer_s, .byte_s = layer_s});
    }
    problem.links.resize(problem.nodes.size() * problem.nodes.size());
    const auto answer = SearchSplit(problem);
    ASSERT_TRUE(answer.has_value());
    EXPECT_LT(answer->chunk_s, 1.25 * 80 / speed);
  }
}

// Different nodes, some with little memory, and links of which some are slow.
SplitProblem UnlikeNodes(Random& random, size_t nodes, uint32_t layers, bool has_links) {
  SplitProblem problem;
  for (uint32_t i = 0; i <= layers; ++i) {
    problem.bytes_before.push_back(10 * i);
    problem.reads_before.push_back(i);
  }
  problem.embedding_bytes = problem.head_bytes = 5;
  problem.head_reads = 4;
  for (size_t i = 0; i < nodes; ++i) {
    const double layer_s = 1 + 0.01 * random.NextBelow(400);
    problem.nodes.push_back({.memory_bytes = 20 + random.NextBelow(layers * 30 / nodes),
                             .layer_s = layer_s,
                             .byte_s = layer_s * (0.5 + 0.01 * random.NextBelow(100))});
  }
  for (size_t i = 0; i < nodes * nodes; ++i) {
    const double chunk_s =
        random.NextBelow(10) == 0 ? 1.0 + random.NextBelow(40) : 0.1 + 0.1 * random.NextBelow(20);
    problem.links.push_back(has_links ? SplitProblem::Link{chunk_s, 0.01 * random.NextBelow(20)}
                                      : SplitProblem::Link{});
  }
  return problem;
}

// Tries each order of each subset.
std::optional<double> BestChunkOfAllOrders(const SplitProblem& problem) {
  std::optional<double> best;
  std::vector<size_t> order;
  const std::function<void()> extend = [&] {
    if (!order.empty()) {
      const auto answer = SplitInOrder(problem, order);
      if (answer && (!best || answer->chunk_s < *best)) best = answer->chunk_s;
    }
    for (size_t i = 0; i < problem.nodes.size(); ++i) {
      if (std::ranges::count(order, i) > 0) continue;
      order.push_back(i);
      extend();
      order.pop_back();
    }
  };
  extend();
  return best;
}

// Seven nodes have more orders than are tried one by one.
TEST(SplitSearch, SevenUnlikeNodesAreWithinThreePercentOfTheBest) {
  constexpr int kRounds = kSanitized ? 2 : 6;
  Random random(9);
  int solved = 0;
  for (int round = 0; round < kRounds; ++round) {
    const SplitProblem problem = UnlikeNodes(random, 7, 12, round % 2 == 0);
    const auto best = BestChunkOfAllOrders(problem);
    const auto answer = SearchSplit(problem);
    ASSERT_EQ(answer.has_value(), best.has_value()) << "round " << round;
    if (!best) continue;
    ++solved;
    EXPECT_LE(answer->chunk_s, 1.03 * *best) << "round " << round;
  }
  EXPECT_GE(solved, kRounds / 2);
}

// A lower bound: with free links, and an embedding and a head of no size, layers could be dealt out
// one by one.
double LeastChunk(const SplitProblem& problem) {
  std::vector<double> times;
  for (const SplitProblem::Node& node : problem.nodes) {
    for (uint32_t count = 1; count <= node.memory_bytes / 10; ++count)
      times.push_back(count * node.layer_s);
  }
  std::ranges::sort(times);
  return times[problem.layer_count() - 1];
}

TEST(SplitSearch, SixtyFourUnlikeNodesAreWithinThreePercentOfTheLeastThatThereCanBe) {
  Random random(10);
  for (const bool has_links : {false, true}) {
    const SplitProblem problem = UnlikeNodes(random, 64, 80, has_links);
    const auto answer = SearchSplit(problem);
    ASSERT_TRUE(answer.has_value());
    EXPECT_LE(answer->chunk_s, 1.03 * LeastChunk(problem)) << has_links;
  }
}

TEST(SplitSearch, LayersThatFitInMemory) {
  SplitProblem problem{.bytes_before = {0, 10, 20, 30},
                       .reads_before = {0, 1, 2, 3},
                       .embedding_bytes = 5,
                       .head_bytes = 5,
                       .shared_bytes = 5,
                       .nodes = {{.memory_bytes = 25}, {.memory_bytes = 35}},
                       .links = std::vector<SplitProblem::Link>(4)};
  EXPECT_EQ(LayersThatFit(problem, 0, 0), 2);
  EXPECT_EQ(LayersThatFit(problem, 0, 1), 2);
  EXPECT_EQ(LayersThatFit(problem, 1, 0), 3);
  EXPECT_EQ(LayersThatFit(problem, 1, 3), 0);
}

// Half of its layers, and the head, are on a device that takes a tenth of the time.
TEST(SplitSearch, ADeviceCountsInAGroup) {
  const SplitProblem::Node node{.layer_s = 10,
                                .head_s = 4,
                                .byte_s = 1,
                                .device_layers = 5,
                                .device_layer_s = 1,
                                .device_byte_s = 0.1};
  const SplitProblem::Node part = node.InGroup(10);
  EXPECT_DOUBLE_EQ(part.layer_s, 5.5);
  EXPECT_DOUBLE_EQ(part.head_s, 0.4);
  EXPECT_DOUBLE_EQ(part.byte_s, 0.55);
  EXPECT_DOUBLE_EQ(node.InGroup(4).layer_s, 1);
  SplitProblem::Node without = node;
  without.device_layers = 0;
  EXPECT_EQ(without.InGroup(10), without);
}

}  // namespace
}  // namespace aster::plan
