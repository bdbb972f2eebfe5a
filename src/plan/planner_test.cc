// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/planner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "plan/alternatives.h"
#include "plan/model_for_test.h"

namespace aster::plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kMiB = uint64_t{1} << 20;

ModelLoad Load(uint32_t layers) {
  ModelLoad load;
  load.layers.resize(layers, {100 * kMiB, 100.0 * kMiB});
  load.embedding_bytes = 50 * kMiB;
  load.head_bytes = 50 * kMiB;
  load.flops_per_layer = 2e8;
  load.head_flops = 1e9;
  load.row_bytes = 16384;
  load.context = 4096;
  load.kv_bytes_per_layer = 10 * kMiB;
  return load;
}

std::vector<NodeAbility> Nodes(std::vector<double> flops, uint64_t memory_bytes = 1000000 * kMiB) {
  std::vector<NodeAbility> nodes;
  const std::vector<PlanNode> names = TestNodes(flops.size());
  for (size_t i = 0; i < flops.size(); ++i) {
    nodes.push_back({.node = names[i],
                     .memory_bytes = memory_bytes,
                     .multiply_flops_per_s = flops[i],
                     .memory_bytes_per_s = flops[i] / 100});
  }
  return nodes;
}

std::vector<uint32_t> Counts(const SplitPlan& split) {
  std::vector<uint32_t> counts;
  for (const PlanStage& stage : split.plan.stages) {
    counts.push_back(stage.slice.layer_end - stage.slice.layer_begin);
  }
  return counts;
}

TEST(Planner, SharesBySpeed) {
  const auto split = PlanSplit(Nodes({1e12, 3e12}), {}, Load(40)).value();
  EXPECT_TRUE(CheckPlan(split.plan, 40).ok());
  std::vector<uint32_t> counts = Counts(split);
  std::ranges::sort(counts);
  EXPECT_THAT(counts, ElementsAre(10, 30));
  // 256 tokens through 10 layers of 2e8 operations at 1e12/s.
  EXPECT_NEAR(split.prefill_tokens_per_s, 256 / (256 * 10 * 2e8 / 1e12), 1);
  EXPECT_GT(split.decode_tokens_per_s, 0);
}

TEST(Planner, ANodeWithADeviceGetsMoreLayers) {
  auto nodes = Nodes({1e12, 1e12});
  nodes[1].devices = {{.name = "Radeon",
                       // 18 layers with their KV cache, the head and a reserve
                       .memory_bytes = (18 * 110 + 50 + 256 + 20) * kMiB,
                       .multiply_flops_per_s = 9e12,
                       .memory_bytes_per_s = 9e10,
                       .bus_round_trip_s = 1e-4,
                       .bus_bytes_per_s = 1e10}};
  const auto layers_of_b = [&] {
    const auto split = PlanSplit(nodes, {}, Load(40)).value();
    for (const PlanStage& stage : split.plan.stages) {
      if (stage.node.name == "b") return stage.slice.layer_end - stage.slice.layer_begin;
    }
    return 0u;
  };
  // 18 layers on the GPU take as long as 2 on the processor: 12 on a, 10 + 18 on b.
  EXPECT_EQ(layers_of_b(), 28u);
  const auto split = PlanSplit(nodes, {}, Load(40)).value();
  EXPECT_THAT(
      fmt::format("{}", fmt::join(split.lines, "\n")),
      HasSubstr("b: layers 12 to 39 and the head (layers 22 to 39 and the head on Radeon: as "
                "many as fit there), "));
  // The user limits the layers, and then the bus is slower than computing.
  nodes[1].gpu_layers = 9;
  EXPECT_EQ(layers_of_b(), 24u);
  EXPECT_THAT(fmt::format("{}", fmt::join(PlanSplit(nodes, {}, Load(40)).value().lines, "\n")),
              HasSubstr(" on Radeon: as many as --gpu-layers allows), "));
  nodes[1].devices[0].bus_bytes_per_s = 1e6;
  EXPECT_EQ(layers_of_b(), 0u);
}

// A GPU's layers, with the head and their share of the KV cache, take no main memory.
TEST(Planner, MemoryOfADeviceCountsBesideMainMemory) {
  auto nodes = Nodes({1e12}, 500 * kMiB);
  const PlannerOptions options{.reserved_bytes = 100 * kMiB};
  const auto plan = [&](uint32_t layers) { return PlanSplit(nodes, {}, Load(layers), options); };
  EXPECT_TRUE(plan(2).ok());
  EXPECT_FALSE(plan(3).ok());
  nodes[0].devices = {{.name = "Radeon",
                       .memory_bytes = (10 * 110 + 50 + 100 + 256) * kMiB,
                       .multiply_flops_per_s = 1e12,
                       .memory_bytes_per_s = 1e10}};
  EXPECT_THAT(plan(10)->lines[0], HasSubstr("(layers 0 to 9 and the head on Radeon: all of them"));
  EXPECT_TRUE(plan(13).ok());
  // 4 layers, the embedding and 4 of 14 parts of the KV cache are 519 MiB.
  EXPECT_THAT(plan(14).error().message(),
              HasSubstr("a has 500 MiB and 1.47 GiB on Radeon, of which 100 MiB are for the KV"));
  // An integrated GPU has no memory of its own.
  nodes[0].devices[0].shares_memory = true;
  EXPECT_TRUE(plan(2).ok());
  EXPECT_FALSE(plan(3).ok());
}

TEST(Planner, LayersAreSharedOutAmongDevicesByTheirMemory) {
  auto nodes = Nodes({1e12});
  for (const char* const name : {"A", "B"}) {
    nodes[0].devices.push_back({.name = name,
                                .memory_bytes = (6 * 110 + 50 + 256) * kMiB,
                                .multiply_flops_per_s = 1e13,
                                .memory_bytes_per_s = 1e11});
  }
  EXPECT_THAT(
      PlanSplit(nodes, {}, Load(14)).value().lines[0],
      HasSubstr("a: layers 0 to 13 and the head (layers 2 to 7 on A, layers 8 to 13 and the "
                "head on B: as many as fit there), "));
}

TEST(Planner, DescribesItsPlan) {
  auto nodes = Nodes({1e12, 1e12, 1e9});
  nodes[1].multiply_flops_per_s = 0;
  const auto split = PlanSplit(nodes, {}, Load(4)).value();
  const std::string text = fmt::format("{}", fmt::join(split.lines, "\n"));
  EXPECT_THAT(text, HasSubstr(" a chunk of 256 tokens, "));
  EXPECT_THAT(text, HasSubstr("the speed of b is unknown and assumed to be the others' median"));
  EXPECT_THAT(text, HasSubstr("the head costs as much as 0.5 layers"));
  EXPECT_THAT(text, HasSubstr("predicted at 4096 tokens: prefill "));
}

TEST(Planner, LeavesOutSlowNodesUnlessAllMustTakePart) {
  const auto nodes = Nodes({1e12, 1e9});
  const auto split = PlanSplit(nodes, {}, Load(8)).value();
  EXPECT_EQ(split.plan.stages.size(), 1);
  EXPECT_THAT(split.lines, Contains("b is left out: with it nothing would be faster"));
  const auto all = PlanSplit(nodes, {}, Load(8), {.all_nodes = true}).value();
  EXPECT_EQ(all.plan.stages.size(), 2);
  EXPECT_LT(all.prefill_tokens_per_s, split.prefill_tokens_per_s);
}

TEST(Planner, WithoutAnyRatesLayersAreSharedByMemory) {
  const auto split = PlanSplit(Nodes({0, 0}), {}, Load(10)).value();
  EXPECT_THAT(Counts(split), ElementsAre(5, 5));
  EXPECT_EQ(split.prefill_tokens_per_s, 0);
  EXPECT_EQ(split.decode_tokens_per_s, 0);
  EXPECT_THAT(fmt::format("{}", fmt::join(split.lines, "\n")), HasSubstr("assumed to be equal"));
}

TEST(Planner, MemoryComesFirst) {
  auto nodes = Nodes({1e13, 1e12});
  nodes[0].memory_bytes = 350 * kMiB;  // three layers with their keys and values, no embedding
  const auto split = PlanSplit(nodes, {}, Load(10)).value();
  ASSERT_EQ(split.plan.stages.size(), 2);
  for (const PlanStage& stage : split.plan.stages) {
    const uint32_t count = stage.slice.layer_end - stage.slice.layer_begin;
    if (stage.node.name == "a") {
      EXPECT_EQ(count, 2);
    }
  }
}

TEST(Planner, SaysWhatDoesNotFitAndWhatWould) {
  const auto refused = PlanSplit(Nodes({1e12, 1e12}, 400 * kMiB), {}, Load(10));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message(), HasSubstr("a has 400 MiB (3 layers), b has 400 MiB (3 l"));
  EXPECT_THAT(refused.error().message(), HasSubstr("add a node"));
}

TEST(Planner, SaysWhatIsReservedAndHowMuchWouldFit) {
  const auto nodes = Nodes({1e12, 1e12}, 600 * kMiB);
  const auto refused = PlanSplit(nodes, {}, Load(8), {.reserved_bytes = 1024 * kMiB});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(),
              HasSubstr("a has 600 MiB, of which 1.00 GiB are for the KV cache (0 lay"));
  EXPECT_THAT(refused.error().message(), HasSubstr("--kv-memory 64MiB would do"));
  const auto planned = PlanSplit(nodes, {}, Load(8), {.reserved_bytes = 64 * kMiB});
  ASSERT_TRUE(planned.ok());
  EXPECT_THAT(Counts(*planned), ElementsAre(4, 4));
  // If the weights alone are too large, no smaller reserve helps.
  EXPECT_THAT(PlanSplit(nodes, {}, Load(80), {.reserved_bytes = 64 * kMiB}).error().message(),
              HasSubstr("add a node"));
}

TEST(Planner, ASlowLinkIsNotUsed) {
  const auto nodes = Nodes({1e12, 1e12, 1e12});
  std::vector<LinkAbility> links;
  for (size_t from = 0; from < 3; ++from) {
    for (size_t to = 0; to < 3; ++to) {
      const bool is_slow = from != to && (from == 2 || to == 2);
      links.push_back({from, to, 0.001, is_slow ? 1e5 : 1e10});
    }
  }
  const auto split = PlanSplit(nodes, links, Load(30)).value();
  EXPECT_EQ(split.plan.stages.size(), 2);
  for (const PlanStage& stage : split.plan.stages) EXPECT_NE(stage.node.name, "c");
}

// A model whose layers a group can compute, on nodes that read 10 GB/s.
ModelLoad LoadOfGroups(uint32_t layers) {
  ModelLoad load = Load(layers);
  load.together = {.heads = 8, .by_heads = 0.25, .gathered_bytes = 60'000, .logit_bytes = 500'000};
  return load;
}

std::vector<LinkAbility> Links(size_t nodes, double round_trip_s, double bytes_per_s) {
  std::vector<LinkAbility> links;
  for (size_t from = 0; from < nodes; ++from) {
    for (size_t to = 0; to < nodes; ++to) {
      if (from != to) links.push_back({from, to, round_trip_s, bytes_per_s});
    }
  }
  return links;
}

TEST(Planner, AGroupWhereItAnswersSooner) {
  const auto nodes = Nodes({1e12, 1e12});
  const auto links = Links(2, 1e-4, 1e10);
  const auto group = PlanSplit(nodes, links, LoadOfGroups(16), {.may_choose = true}).value();
  EXPECT_TRUE(CheckPlan(group.plan, 16).ok());
  EXPECT_EQ(SplitText(group.plan), "a+b=0:out");
  EXPECT_THAT(group.lines[0], HasSubstr("a+b: layers 0 to 15 and the head together, "));
  EXPECT_THAT(DescribeOthers(group.alternatives),
              Contains(HasSubstr("a pipeline (--split a=0:7,b=8:out) would take ")));
  // 1650 MiB, halved, at 10 GB/s, and 66 gathers.
  EXPECT_NEAR(group.decode_tokens_per_s, 1 / (0.5 * 1650 * kMiB / 1e10 + 66 * 7e-5), 0.1);
  // If it may not be chosen it is mentioned.
  const auto pipeline = PlanSplit(nodes, links, LoadOfGroups(16)).value();
  EXPECT_EQ(pipeline.plan.stages.size(), 2u);
  EXPECT_THAT(pipeline.lines.back(), HasSubstr("a group (--split a+b=0:out) would take "));
  EXPECT_THAT(pipeline.lines.back(), HasSubstr(": several requests share a pipeline better"));
}

TEST(Planner, ComparesAllKindsOfPlan) {
  const auto nodes = Nodes({1e12, 1e12});
  const auto split =
      PlanSplit(nodes, Links(2, 1e-4, 1e10), LoadOfGroups(16), {.may_choose = true}).value();
  ASSERT_EQ(split.alternatives.size(), 5u);
  double least_s = split.alternatives[0].request_s;
  for (const Alternative& of : split.alternatives) {
    if (!of.plan) continue;
    EXPECT_TRUE(CheckPlan(*of.plan, 16).ok());
    least_s = std::min(least_s, of.request_s);
    EXPECT_EQ(of.why.empty(), of.is_taken) << of.kind;
    EXPECT_NEAR(of.request_s, of.first_token_s + 255 / of.decode_tokens_per_s, 1e-9);
  }
  const auto taken = std::ranges::find(split.alternatives, true, &Alternative::is_taken);
  ASSERT_NE(taken, split.alternatives.end());
  EXPECT_EQ(taken->kind, "a group");
  EXPECT_EQ(SplitText(*taken->plan), SplitText(split.plan));
  EXPECT_LE(0.9 * taken->request_s, least_s);
  EXPECT_EQ(split.alternatives[3].why, "there are too few nodes");
  // Each is predicted the same as an existing plan.
  for (const Alternative& of : split.alternatives) {
    if (!of.plan) continue;
    const auto predicted = PredictPlan(nodes, Links(2, 1e-4, 1e10), LoadOfGroups(16), {}, *of.plan);
    ASSERT_TRUE(predicted) << of.kind;
    EXPECT_NEAR(predicted->request_s, of.request_s, 1e-9) << of.kind;
  }
  // Without rates nothing is compared.
  EXPECT_TRUE(PlanSplit(Nodes({0, 0}), {}, Load(16), {.may_choose = true})->alternatives.empty());
}

TEST(Planner, ComparesPlansOfAllNodesWhereAllAreToTakePart) {
  const auto nodes = Nodes({1e12, 1e12});
  PlannerOptions options{.all_nodes = true, .may_choose = true};
  const auto near = PlanSplit(nodes, Links(2, 1e-4, 1e10), LoadOfGroups(16), options).value();
  EXPECT_EQ(SplitText(near.plan), "a+b=0:out");
  // For so short an answer over so slow a link, one node alone would be soonest.
  options.prompt_tokens = 40;
  options.answer_tokens = 64;
  const auto far = PlanSplit(nodes, Links(2, 0.05, 1e7), LoadOfGroups(16), options).value();
  EXPECT_EQ(far.plan.stages.size(), 2u);
  EXPECT_EQ(far.alternatives[0].why, "all nodes are to take part");
  for (const Alternative& of : far.alternatives) {
    if (!of.plan) continue;
    EXPECT_THAT(SplitText(*of.plan), testing::ContainsRegex("a.*b")) << of.kind;
  }
}

TEST(Planner, OneNodeAloneWhereThatIsSooner) {
  const auto nodes = Nodes({1e12, 1e12});
  const PlannerOptions options{.may_choose = true, .prompt_tokens = 40, .answer_tokens = 64};
  const auto split = PlanSplit(nodes, Links(2, 0.05, 1e7), Load(16), options).value();
  EXPECT_EQ(SplitText(split.plan), "a=0:out");
  EXPECT_THAT(split.lines,
              Contains("b is left out: with it nothing would be answered much sooner"));
  EXPECT_THAT(DescribeOthers(split.alternatives), Contains(HasSubstr("a pipeline (--split ")));
}

TEST(Planner, SaysWhyThereIsNoPipeline) {
  const PlannerOptions options{.may_choose = true, .prompt_tokens = 40, .answer_tokens = 64};
  const auto split = PlanSplit(Nodes({1e13, 1e9}), Links(2, 1e-4, 1e10), Load(16), options).value();
  EXPECT_THAT(DescribeOthers(split.alternatives),
              Contains("a pipeline is not possible: none of several nodes is faster than one node "
                       "alone"));
}

TEST(Planner, SaysWhatOneNodeAloneWouldTake) {
  // A prompt of one chunk goes through both halves one after the other.
  const auto nodes = Nodes({1e12, 1e12});
  const auto links = Links(2, 1e-4, 1e10);
  const PlannerOptions options{.prompt_tokens = 256, .answer_tokens = 1};
  const auto split = PlanSplit(nodes, links, Load(16), options).value();
  ASSERT_EQ(split.plan.stages.size(), 2u);
  EXPECT_NEAR(split.first_chunk_s, 16 * 256 * 2e8 / 1e12 + 256 * 16384 / 1e10, 1e-6);
  EXPECT_THAT(DescribeOthers(split.alternatives),
              Contains(HasSubstr("one node alone (--split a=0:out) would take ")));
  const auto whole = PlanSplit(Nodes({1e12, 1e12}, 1000 * kMiB), links, Load(16), options).value();
  EXPECT_THAT(DescribeOthers(whole.alternatives),
              Contains("one node alone is not possible: no node has memory for the whole model"));
  // One node has all of it.
  const auto one = PlanSplit(Nodes({1e12}), {}, Load(16), options).value();
  EXPECT_THAT(one.lines, Contains(HasSubstr("predicted at 4096 tokens: prefill ")));
}

TEST(Planner, NoGroupWhereAPipelineAnswersSooner) {
  const auto nodes = Nodes({1e12, 1e12});
  // 16 layers with 4 gathers of half a round trip each take longer than half of the model.
  const auto slow = PlanSplit(nodes, Links(2, 4e-3, 1e10), LoadOfGroups(16), {.may_choose = true});
  EXPECT_FALSE(slow->plan.has_groups());
  EXPECT_THAT(DescribeOthers(slow->alternatives),
              Contains(HasSubstr("a group (--split a+b=0:out) would take ")));
  // A pipeline prefills a long prompt faster.
  EXPECT_EQ(PlanSplit(nodes, Links(2, 1e-4, 1e8), LoadOfGroups(16),
                      {.may_choose = true, .prompt_tokens = 32768, .answer_tokens = 16})
                ->plan.stages.size(),
            2u);
}

TEST(Planner, GroupsNeedWhatWasMeasured) {
  const PlannerOptions options{.may_choose = true};
  const auto is_group = [&](std::span<const NodeAbility> nodes, std::span<const LinkAbility> links,
                            const ModelLoad& load) {
    return PlanSplit(nodes, links, load, options)->plan.has_groups();
  };
  const auto links = Links(2, 1e-4, 1e10);
  EXPECT_TRUE(is_group(Nodes({1e12, 1e12}), links, LoadOfGroups(16)));
  EXPECT_FALSE(is_group(Nodes({1e12, 1e12}), {}, LoadOfGroups(16)));
  EXPECT_FALSE(is_group(Nodes({1e12, 1e12}), Links(2, 1e-4, 0), LoadOfGroups(16)));
  EXPECT_FALSE(is_group(Nodes({0, 0}), links, LoadOfGroups(16)));
  EXPECT_FALSE(is_group(Nodes({1e12, 1e12}), links, Load(16)));
}

TEST(Planner, AbsurdInputs) {
  EXPECT_EQ(PlanSplit({}, {}, Load(3)).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(PlanSplit(Nodes({1}), {}, Load(0)).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(PlanSplit(Nodes({1}), {}, Load(1), {.chunk_tokens = 0}).error().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(PlanSplit(Nodes({1, 1, 1}), {}, Load(1)).value().plan.stages.size(), 1);
  EXPECT_THAT(PlanSplit(Nodes({1, 1, 1}), {}, Load(2), {.all_nodes = true}).error().message(),
              HasSubstr("3 nodes cannot share 2 layers"));
  EXPECT_FALSE(PlanSplit(Nodes({1, 1}, 0), {}, Load(2)).ok());
  EXPECT_FALSE(PlanSplit(Nodes({1, 1}, 1), {}, Load(1)).ok());
  auto strange = Nodes({-1, std::numeric_limits<double>::infinity(),
                        std::numeric_limits<double>::quiet_NaN(), 1e-300});
  EXPECT_TRUE(PlanSplit(strange, {}, Load(5)).ok());
  auto huge = Load(3);
  huge.layers[1].bytes = std::numeric_limits<uint64_t>::max();
  EXPECT_FALSE(PlanSplit(Nodes({1, 1}), {}, huge).ok());
  const std::vector<LinkAbility> nowhere = {{0, 7, 1, 1}, {9, 0, 1, 1}};
  EXPECT_TRUE(PlanSplit(Nodes({1, 1}), nowhere, Load(2)).ok());
}

TEST(Planner, ManyNodesAndManyLayersTakeNoTime) {
  std::vector<double> flops;
  for (int i = 0; i < 40; ++i) flops.push_back(1e12 + 1e10 * i);
  const auto split = PlanSplit(Nodes(flops), {}, Load(120)).value();
  EXPECT_TRUE(CheckPlan(split.plan, 120).ok());
  EXPECT_GT(split.prefill_tokens_per_s, 256 / (256 * 5 * 2e8 / 1e12));
  EXPECT_TRUE(PlanSplit(Nodes({1e12, 2e12}), {}, Load(5000)).ok());
}

// The same for one request: every kind of plan, and links that differ.
TEST(Planner, SixtyFourUnlikeNodesForOneRequest) {
  Random random(7);
  const auto between = [&](double least, double most) {
    return least * std::pow(most / least, random.NextDouble());
  };
  std::vector<double> flops;
  for (int i = 0; i < 64; ++i) flops.push_back(between(1e11, 1e13));
  std::vector<LinkAbility> links = Links(64, 1e-4, 1e9);
  for (LinkAbility& link : links) {
    link.round_trip_s = between(5e-5, 2e-3);
    link.bytes_per_s = between(1e7, 3e9);
  }
  const SystemClock clock;
  const int64_t begin_ns = clock.NowNs();
  const PlannerOptions options{.may_choose = true, .prompt_tokens = 2000, .answer_tokens = 200};
  const auto split = PlanSplit(Nodes(flops), links, LoadOfGroups(80), options).value();
  fmt::print("{:.2f} s\n", static_cast<double>(clock.NowNs() - begin_ns) / kNsPerSecond);
  EXPECT_TRUE(CheckPlan(split.plan, 80).ok());
  const auto fastest = std::ranges::max_element(flops) - flops.begin();
  const auto alone = std::ranges::find_if(split.alternatives, [&](const Alternative& of) {
    return of.plan && SplitText(*of.plan) == TestNodes(64)[fastest].name + "=0:out";
  });
  ASSERT_NE(alone, split.alternatives.end());
  EXPECT_LE(0.9 * split.request_s, alone->request_s);
}

// The rates of a node promise twice its real speed for this model.
TEST(Planner, WhatNodesTookForTheModelCountsMoreThanTheirRates) {
  const ModelLoad load = Load(40);
  auto nodes = Nodes({2e12, 1e12});
  const double layer_s = 256 * 2e8 / 1e12;  // of a chunk, at the second node's rate
  const double token_s = 100.0 * kMiB / 1e10;
  const auto took = [&](uint32_t begin, uint32_t end, double part) {
    const double layers = part * (end - begin);
    return MeasuredSlice{
        .begin = begin,
        .end = end,
        .head = end == 40,
        .part = part,
        .token = {.seconds = layers * token_s + (end == 40 ? part * 50 * kMiB / 1e10 : 0),
                  .rows = 1,
                  .context = 100},
        .chunk = {.seconds = layers * layer_s + (end == 40 ? part * 50 * kMiB / 1e10 : 0),
                  .rows = 256,
                  .context = 256}};
  };
  const auto layers_of_a = [&] {
    const auto split = PlanSplit(nodes, {}, load).value();
    for (const PlanStage& stage : split.plan.stages) {
      if (stage.node.name == "a") return stage.slice.layer_end - stage.slice.layer_begin;
    }
    return 0u;
  };
  EXPECT_NEAR(layers_of_a(), 27, 1);
  // Its times in any slice count, also those in groups.
  for (const MeasuredSlice& measured : {took(0, 10, 1), took(30, 40, 1), took(0, 40, 0.5)}) {
    nodes[0].measured = {measured};
    EXPECT_EQ(layers_of_a(), 20u);
    const auto split = PlanSplit(nodes, {}, load).value();
    EXPECT_NEAR(split.stage_times[0].chunk_s, 20 * layer_s, 1e-3);
  }
  // Shorter frames tell the time of a row.
  MeasuredSlice shorter = took(0, 10, 1);
  shorter.chunk.rows = 128;
  shorter.chunk.seconds =
      shorter.token.seconds + (shorter.chunk.seconds - shorter.token.seconds) * 127 / 255;
  nodes[0].measured = {shorter};
  EXPECT_EQ(layers_of_a(), 20u);
  // Times of other models, and empty ones.
  nodes[0].measured = {took(0, 41, 1), took(3, 3, 1), MeasuredSlice()};
  EXPECT_NEAR(layers_of_a(), 27, 1);
}

// If a message takes as long as a layer, four gathers are worse than three.
TEST(Planner, OwnersOfExpertsWhereTheyAnswerSooner) {
  ModelLoad load = LoadOfGroups(16);
  load.together.experts = {.count = 64,
                           .used = 8,
                           .has_shared = true,
                           .reads = 0.6,
                           .bytes = 800 * kMiB,
                           .shared_bytes = 100 * kMiB,
                           .gathered_bytes = 30'000,
                           .sum_bytes = 16'384};
  auto nodes = Nodes({1e12, 1e12});
  const PlannerOptions options{.may_choose = true};
  const auto links = Links(2, 1e-3, 1e9);
  const auto owners = PlanSplit(nodes, links, load, options).value();
  EXPECT_THAT(SplitText(owners.plan), testing::StartsWith("a+b/experts"));
  EXPECT_TRUE(owners.plan.stages[0].owns_experts);
  EXPECT_THAT(owners.lines[0], HasSubstr("; each has experts of its own"));
  EXPECT_THAT(owners.lines[0], HasSubstr(": with rows of every expert on each it would be "));
  const auto same = PredictPlan(nodes, links, load, options, owners.plan);
  ASSERT_TRUE(same);
  EXPECT_NEAR(same->request_s, owners.request_s, 1e-9);
  // The same holds if the model fits on no single node.
  const auto large = PlanSplit(Nodes({1e12, 1e12}, 1200 * kMiB), links, load, options).value();
  EXPECT_THAT(SplitText(large.plan), testing::StartsWith("a+b/experts"));
  EXPECT_THAT(DescribeOthers(large.alternatives),
              Contains("one node alone is not possible: no node has memory for the whole model"));
  // If messages cost nothing, rows are better, as their load is even.
  EXPECT_EQ(SplitText(PlanSplit(nodes, Links(2, 1e-7, 1e12), load, options)->plan), "a+b=0:out");
  // A program that does not know owned experts computes rows.
  nodes[1].may_own_experts = false;
  EXPECT_THAT(SplitText(PlanSplit(nodes, links, load, options)->plan),
              testing::Not(HasSubstr("experts")));
}

// Programs of an earlier protocol divide only the families that it knew.
TEST(Planner, OlderProgramsAreInNoGroupOfANewFamily) {
  ModelLoad load = LoadOfGroups(16);
  auto nodes = Nodes({1e12, 1e12, 1e12});
  const auto links = Links(3, 1e-4, 1e10);
  const PlannerOptions options{.may_choose = true};
  nodes[0].may_divide_new = false;
  EXPECT_EQ(SplitText(PlanSplit(nodes, links, load, options)->plan), "a+b+c=0:out");
  load.together.is_new = true;
  EXPECT_EQ(SplitText(PlanSplit(nodes, links, load, options)->plan), "b+c=0:out");
  const Plan all = ParseSplit("a+b+c=0:out", 16, TestNodes(3)).value();
  EXPECT_FALSE(PredictPlan(nodes, links, load, options, all));
  nodes[1].may_divide_new = false;
  const auto none = PlanSplit(nodes, links, load, options).value();
  EXPECT_FALSE(none.plan.has_groups());
  EXPECT_THAT(DescribeOthers(none.alternatives),
              Contains("a group is not possible: the nodes' programs are older than groups of this "
                       "model: update them"));
  // In a pipeline older programs are as good as others.
  EXPECT_GT(PlanSplit(nodes, links, load, {.all_nodes = true})->plan.stages.size(), 1u);
}

// A node's times in groups say more about groups, and its times alone more about pipelines.
TEST(Planner, TimesInGroupsCountForGroups) {
  const ModelLoad load = LoadOfGroups(16);
  auto nodes = Nodes({1e12, 1e12});
  const auto links = Links(2, 1e-4, 1e10);
  const auto chunk_s = [&](const char* split) {
    const Plan plan = ParseSplit(split, 16, TestNodes(2)).value();
    return PredictPlan(nodes, links, load, {}, plan)->stage_times[0].chunk_s;
  };
  const double alone_s = chunk_s("a=0:out");
  const double group_s = chunk_s("a+b=0:out");
  const auto took = [&](double part, double seconds, uint32_t rows) {
    return MeasuredSlice{.begin = 0,
                         .end = 16,
                         .head = false,
                         .part = part,
                         .token = {},
                         .chunk = {.seconds = seconds, .rows = rows, .context = rows}};
  };
  const double layers_s = 16 * 256 * 2e8 / 1e12;
  for (NodeAbility& node : nodes) node.measured = {took(0.5, 0.75 * layers_s, 256)};
  EXPECT_NEAR(chunk_s("a+b=0:out"), group_s + 0.25 * layers_s, 1e-6);
  // The node's times without a group are unknown.
  EXPECT_NEAR(chunk_s("a=0:out"), 1.5 * alone_s, 1e-6);
  for (NodeAbility& node : nodes) node.measured.push_back(took(1, 1.2 * layers_s, 256));
  EXPECT_NEAR(chunk_s("a+b=0:out"), group_s + 0.25 * layers_s, 1e-6);
  EXPECT_NEAR(chunk_s("a=0:out"), 1.2 * alone_s, 1e-6);
  // Frames of other lengths change the times between a row and a chunk.
  const auto first_s = [&](uint32_t prompt) {
    const Plan plan = ParseSplit("a=0:out", 16, TestNodes(2)).value();
    return PredictPlan(nodes, links, load, {.prompt_tokens = prompt}, plan)->first_token_s;
  };
  const double before_s = first_s(64), longest_s = first_s(256);
  nodes[0].measured.push_back(took(1, 0.6 * layers_s, 64));
  EXPECT_NEAR(first_s(256), longest_s, 1e-6);
  EXPECT_GT(first_s(64), 1.2 * before_s);
  EXPECT_NEAR(first_s(64) - 50 * kMiB / 1e10, 0.6 * layers_s, 1e-6);
}

TEST(Planner, ALoadIsOfTheRequestThatIsPlannedFor) {
  ModelLoad load = LoadOf(TestModel::Get().files(), {}, 1024, 4096).value();
  const model::Shape& shape = TestModel::Get().shape();
  const double matrices = load.matrix_flops / kTestLayers;
  const double look_back = 4.0 * shape.head_count * shape.head_dim;
  EXPECT_DOUBLE_EQ(load.flops_per_layer, matrices + 4096 * look_back);
  const double kv_bytes = load.kv_read_bytes;
  load.PrepareFor(/*prompt_tokens=*/200, /*answer_tokens=*/100);
  EXPECT_EQ(load.context, 250u);
  EXPECT_DOUBLE_EQ(load.flops_per_layer, matrices + 100 * look_back);
  EXPECT_DOUBLE_EQ(load.kv_read_bytes, kv_bytes * 250 / 4096);
}

}  // namespace
}  // namespace aster::plan
