// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/kind_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace aster::plan {
namespace {

using testing::ElementsAre;

constexpr uint32_t kLayers = 16;
constexpr double kLayerBytes = 6e7;
constexpr double kHeadBytes = 1.5e8;

struct TestLink {
  double round_trip_s = 1e-4;
  double bytes_per_s = 1e9;
};

// Nodes that read `reads` bytes/s and compute 100 times as many operations/s, on a model of 1.1 GB
// with 2 operations per byte and token.
KindProblem ProblemOf(const std::vector<double>& reads, TestLink link = {}) {
  KindProblem problem;
  SplitProblem& split = problem.split;
  for (uint32_t i = 0; i <= kLayers; ++i) {
    split.bytes_before.push_back(static_cast<uint64_t>(i * kLayerBytes));
    split.reads_before.push_back(i * kLayerBytes);
  }
  split.head_bytes = static_cast<uint64_t>(kHeadBytes);
  split.head_reads = kHeadBytes;
  for (const double rate : reads) {
    split.nodes.push_back({.memory_bytes = uint64_t{1} << 40,
                           .layer_s = 256 * 2 * kLayerBytes / (100 * rate),
                           .byte_s = 1 / rate});
  }
  const auto group_of = [&](uint32_t layers, bool has_head) {
    GroupProblem group{.heads = 8,
                       .by_heads = 0.25,
                       .bytes = static_cast<uint64_t>(layers * kLayerBytes + has_head * kHeadBytes),
                       .layer_reads = layers * kLayerBytes,
                       .head_reads = has_head ? kHeadBytes : 0,
                       .gathers = 4 * layers + (has_head ? 2 : 0),
                       .gathered_bytes = layers * uint64_t{50'000},
                       .chunk_tokens = 256};
    for (const SplitProblem::Node& node : split.nodes) {
      group.nodes.push_back({.memory_bytes = node.memory_bytes,
                             .token_byte_s = node.byte_s,
                             .chunk_s = node.layer_s * layers});
    }
    return group;
  };
  problem.group = group_of(kLayers, true);
  problem.layer = group_of(1, false);
  problem.kv_row_bytes = 4096;
  problem.prompt_tokens = 512;
  problem.answer_tokens = 256;
  split.links.resize(reads.size() * reads.size());
  problem.group.links.resize(split.links.size());
  problem.layer.links.resize(split.links.size());
  const auto set = [&](size_t from, size_t to) {
    const double byte_s = 1 / link.bytes_per_s;
    const size_t at = from * reads.size() + to;
    split.links[at] = {.chunk_s = 256 * 8192 * byte_s,
                       .token_s = link.round_trip_s / 2 + 8192 * byte_s};
    problem.group.links[at] = {.message_s = link.round_trip_s / 2, .byte_s = byte_s};
    problem.layer.links[at] = problem.group.links[at];
  };
  for (size_t from = 0; from < reads.size(); ++from) {
    for (size_t to = 0; to < reads.size(); ++to) {
      if (from != to) set(from, to);
    }
  }
  return problem;
}

// Sets the link between two nodes, in both directions.
void SetLink(KindProblem& problem, size_t a, size_t b, TestLink link) {
  const size_t count = problem.split.nodes.size();
  for (const size_t at : {a * count + b, b * count + a}) {
    problem.split.links[at] = {.chunk_s = 256 * 8192 / link.bytes_per_s,
                               .token_s = link.round_trip_s / 2 + 8192 / link.bytes_per_s};
    problem.group.links[at] = {.message_s = link.round_trip_s / 2, .byte_s = 1 / link.bytes_per_s};
    problem.layer.links[at] = problem.group.links[at];
  }
}

void SetMemory(KindProblem& problem, uint64_t bytes) {
  for (SplitProblem::Node& node : problem.split.nodes) node.memory_bytes = bytes;
  for (GroupProblem* const group : {&problem.group, &problem.layer})
    for (GroupProblem::Node& node : group->nodes) node.memory_bytes = bytes;
}

std::vector<KindAnswer> Search(const KindProblem& problem) {
  const auto fast_prefill = SearchSplit(problem.split);
  if (!fast_prefill) return {};
  return SearchKinds(problem, *fast_prefill);
}

const KindAnswer* Find(const std::vector<KindAnswer>& answers, PlanKind kind) {
  const auto found = std::ranges::find(answers, kind, &KindAnswer::kind);
  return found == answers.end() ? nullptr : &*found;
}

PlanKind Chosen(const KindProblem& problem) {
  const auto answers = Search(problem);
  return answers.at(ChooseKind(answers).value()).kind;
}

TEST(KindSearch, ANodeAloneWhereOthersWouldOnlyBeInTheWay) {
  // Messages take longer than the time that they would save.
  KindProblem problem = ProblemOf({1e10, 1e10}, {.round_trip_s = 0.02, .bytes_per_s = 1e7});
  EXPECT_EQ(Chosen(problem), PlanKind::kOneNode);
  // The fast node would gain nothing from giving a part to the slow one.
  problem = ProblemOf({1e10, 1e8});
  EXPECT_EQ(Chosen(problem), PlanKind::kOneNode);
}

// Weights are read once per frame, and each row costs the same, also in a short prompt.
TEST(KindSearch, APromptTakesItsFrames) {
  KindProblem problem = ProblemOf({1e10});
  problem.answer_tokens = 1;
  const auto first_token_s = [&](uint32_t tokens) {
    problem.prompt_tokens = tokens;
    return Find(Search(problem), PlanKind::kOneNode)->first_token_s;
  };
  const double one_s = kLayers * kLayerBytes / 1e10;
  const double head_s = kHeadBytes / 1e10;
  const double chunk_s = 256 * 2 * kLayers * kLayerBytes / (100 * 1e10);
  const double row_s = (chunk_s - one_s) / 255;
  EXPECT_NEAR(first_token_s(1), one_s + head_s, 1e-9);
  EXPECT_NEAR(first_token_s(17), one_s + 16 * row_s + head_s, 1e-9);
  EXPECT_NEAR(first_token_s(256), chunk_s + head_s, 1e-9);
  EXPECT_NEAR(first_token_s(257), chunk_s + one_s + head_s, 1e-9);
  EXPECT_NEAR(first_token_s(1024), 4 * chunk_s + head_s, 1e-9);
  // A chunk takes 0.49 s: in 0.3 s half of it is computed.
  problem.longest_frame_s = 0.3;
  EXPECT_NEAR(first_token_s(1024), 8 * (one_s + 127 * row_s) + head_s, 1e-9);
}

// Short frames use a node less well, by its measured times; the bytes that a group's nodes send
// grow with the rows.
TEST(KindSearch, FramesGrowAsTheyWereSeenTo) {
  KindProblem problem = ProblemOf({1e10, 1e10});
  problem.answer_tokens = 1;
  problem.prompt_tokens = 64;
  const auto first_token_s = [&](PlanKind kind) {
    return Find(Search(problem), kind)->first_token_s;
  };
  const double one_s = first_token_s(PlanKind::kOneNode);
  const double group_s = first_token_s(PlanKind::kGroup);
  const FrameShape::Point seen[] = {{64, 1.4}, {256, 2.0}};
  problem.alone_frames = {FrameShape(1, seen, 256), FrameShape(1, seen, 256)};
  const double alone_part = 0.4 - 63.0 / 255;
  const double alone_way_s =
      256 * 2 * kLayers * kLayerBytes / (100 * 1e10) - kLayers * kLayerBytes / 1e10;
  EXPECT_NEAR(first_token_s(PlanKind::kOneNode), one_s + alone_part * alone_way_s, 1e-9);
  EXPECT_NEAR(first_token_s(PlanKind::kGroup), group_s, 1e-9);
  // The slowest node of a group counts.
  problem.group_frames = {FrameShape(), FrameShape(1, seen, 256)};
  EXPECT_NEAR(first_token_s(PlanKind::kGroup), group_s + alone_part * alone_way_s / 2, 1e-9);
}

TEST(KindSearch, AShortRequestTakesNoMachinesForLessThanATenth) {
  KindProblem problem = ProblemOf({1e10, 1.6e9});
  problem.prompt_tokens = 40;
  problem.answer_tokens = 20;
  const auto answers = Search(problem);
  const KindAnswer* const group = Find(answers, PlanKind::kGroup);
  const KindAnswer* const one = Find(answers, PlanKind::kOneNode);
  ASSERT_TRUE(group != nullptr && one != nullptr);
  EXPECT_LT(group->token_s, one->token_s);
  EXPECT_GT(group->request_s, 0.9 * one->request_s);
  EXPECT_EQ(Chosen(problem), PlanKind::kOneNode);
}

TEST(KindSearch, APipelineForALongPrompt) {
  KindProblem problem = ProblemOf({1e10, 1e10}, {.round_trip_s = 4e-3, .bytes_per_s = 1e8});
  problem.prompt_tokens = 8192;
  problem.answer_tokens = 16;
  EXPECT_EQ(Chosen(problem), PlanKind::kPipeline);
}

TEST(KindSearch, AGroupForALongAnswerOverAFastLink) {
  EXPECT_EQ(Chosen(ProblemOf({1e10, 1e10})), PlanKind::kGroup);
}

// A chunk's gathers take long if the link has few bytes/s and a short latency; a token's do not.
TEST(KindSearch, APipelinePrefillsAndAGroupDecodesIfThatIsFastest) {
  KindProblem problem = ProblemOf({1e10, 1e10}, {.round_trip_s = 2e-5, .bytes_per_s = 3e8});
  problem.prompt_tokens = 8192;
  problem.answer_tokens = 256;
  const auto answers = Search(problem);
  const KindAnswer* const disaggregated = Find(answers, PlanKind::kDisaggregated);
  ASSERT_NE(disaggregated, nullptr);
  EXPECT_EQ(disaggregated->parts.size(), 2u);
  ASSERT_EQ(disaggregated->decode.size(), 1u);
  EXPECT_EQ(disaggregated->decode[0].nodes.size(), 2u);
  EXPECT_EQ(Chosen(problem), PlanKind::kDisaggregated);
  // Only the transfer of the last frame takes extra time: half of its rows go to or from the
  // leader.
  EXPECT_NEAR(disaggregated->transfer_s, 127.0 * kLayers / 2 * 4096 / 3e8, 1e-9);
  // An existing plan gets the same prediction as when it was searched for.
  const auto same = AnswerOfPlan(problem, disaggregated->parts, disaggregated->decode);
  ASSERT_TRUE(same);
  EXPECT_NEAR(same->request_s, disaggregated->request_s, 1e-9);
  // Impossible without memory for the group's part in addition to the pipeline's.
  SetMemory(problem, static_cast<uint64_t>(kLayers * kLayerBytes / 2 + kHeadBytes + 1e6));
  EXPECT_EQ(Find(Search(problem), PlanKind::kDisaggregated), nullptr);
  // Impossible if KV rows must not be transferred.
  SetMemory(problem, uint64_t{1} << 40);
  problem.kv_row_bytes = 0;
  EXPECT_EQ(Find(Search(problem), PlanKind::kDisaggregated), nullptr);
}

TEST(KindSearch, APipelinePrefillsAndOneNodeDecodes) {
  // The second node computes prompts as fast, and reads its memory slowly.
  KindProblem problem = ProblemOf({1e10, 1e10}, {.round_trip_s = 2e-3, .bytes_per_s = 3e8});
  problem.split.nodes[1].byte_s *= 3;
  for (GroupProblem* const group : {&problem.group, &problem.layer})
    group->nodes[1].token_byte_s *= 3;
  problem.prompt_tokens = 8192;
  const auto answers = Search(problem);
  const KindAnswer& chosen = answers.at(ChooseKind(answers).value());
  EXPECT_EQ(chosen.kind, PlanKind::kDisaggregated);
  EXPECT_EQ(chosen.parts.size(), 2u);
  ASSERT_EQ(chosen.decode.size(), 1u);
  EXPECT_THAT(chosen.decode[0].nodes, ElementsAre(0));
}

// Two near nodes and one far away, none with memory for half of the model.
TEST(KindSearch, AGroupBesideAnotherStage) {
  KindProblem problem = ProblemOf({1e10, 1e10, 1e10}, {.round_trip_s = 2e-5, .bytes_per_s = 5e9});
  for (const size_t near : {size_t{0}, size_t{1}}) SetLink(problem, near, 2, {5e-3, 1e9});
  SetMemory(problem, static_cast<uint64_t>(0.45 * (kLayers * kLayerBytes + kHeadBytes)));
  problem.answer_tokens = 512;
  const auto answers = Search(problem);
  const KindAnswer& chosen = answers.at(ChooseKind(answers).value());
  EXPECT_EQ(Find(answers, PlanKind::kOneNode), nullptr);
  ASSERT_EQ(chosen.kind, PlanKind::kMixed);
  ASSERT_EQ(chosen.parts.size(), 2u);
  const auto group = std::ranges::find(
      chosen.parts, size_t{2}, [](const KindAnswer::Part& part) { return part.nodes.size(); });
  ASSERT_NE(group, chosen.parts.end());
  EXPECT_THAT(group->nodes, testing::UnorderedElementsAre(0, 1));
  // The group computes as many layers as it has room for.
  EXPECT_GT(group->end - group->begin, 10u);
  EXPECT_LT(chosen.token_s, Find(answers, PlanKind::kPipeline)->token_s);
  const auto same = AnswerOfPlan(problem, chosen.parts, {});
  ASSERT_TRUE(same);
  EXPECT_NEAR(same->request_s, chosen.request_s, 1e-9);
}

// A prompt of 513 tokens; the first node has all KV rows but the last token's.
class KindsWithHeldRows : public testing::Test {
 protected:
  static KindAnswer::Part Of(std::vector<size_t> nodes, uint32_t begin, uint32_t end) {
    KindAnswer::Part part;
    part.nodes = std::move(nodes);
    if (part.nodes.size() > 1) part.shares.assign(part.nodes.size(), 1);
    part.begin = begin;
    part.end = end;
    return part;
  }
  void Hold(KindAnswer::Part part) { problem_.held.push_back({std::move(part), kHeld}); }
  KindAnswer Answer(const std::vector<KindAnswer::Part>& parts,
                    const std::vector<KindAnswer::Part>& decode = {}) const {
    return AnswerOfPlan(problem_, parts, decode).value();
  }
  static KindProblem Problem(TestLink link) {
    KindProblem problem = ProblemOf({1e10, 1e10}, link);
    problem.prompt_tokens = kHeld + 1;
    problem.answer_tokens = 1;
    return problem;
  }

  static constexpr uint32_t kHeld = 512;
  static constexpr double kLayerRowsBytes = kHeld * 4096.0;
  // The one remaining token through all layers and the head.
  static constexpr double kTokenS = (kLayers * kLayerBytes + kHeadBytes) / 1e10;
  KindProblem problem_ = Problem({.round_trip_s = 1e-4, .bytes_per_s = 1e9});
};

TEST_F(KindsWithHeldRows, AreNotComputedWhereTheyAre) {
  problem_ = Problem({.round_trip_s = 1e-4, .bytes_per_s = 1e8});
  const double computing_s = Answer({Of({0}, 0, kLayers)}).first_token_s;
  EXPECT_GT(computing_s, 0.98);  // two frames of 0.49 s
  Hold(Of({0}, 0, kLayers));
  const KindAnswer there = Answer({Of({0}, 0, kLayers)});
  EXPECT_EQ(there.held_tokens, kHeld);
  EXPECT_EQ(there.fetch_s, 0);
  EXPECT_NEAR(there.first_token_s, kTokenS, 1e-9);
  // That node answers alone: in a group it would wait for 0.17 s.
  const auto answers = Search(problem_);
  const KindAnswer& chosen = answers.at(ChooseKind(answers).value());
  EXPECT_EQ(chosen.kind, PlanKind::kOneNode);
  EXPECT_THAT(chosen.parts[0].nodes, ElementsAre(0));
}

TEST_F(KindsWithHeldRows, AreFetchedWhereThatIsSooner) {
  Hold(Of({0}, 0, kLayers));
  const KindAnswer other = Answer({Of({1}, 0, kLayers)});
  EXPECT_EQ(other.held_tokens, kHeld);
  EXPECT_NEAR(other.fetch_s, kLayers * kLayerRowsBytes / 1e9, 1e-9);
  EXPECT_NEAR(other.first_token_s, other.fetch_s + kTokenS, 1e-9);
  // One node of a pipeline has the rows of its layers.
  const KindAnswer pipeline = Answer({Of({0}, 0, 8), Of({1}, 8, kLayers)});
  EXPECT_NEAR(pipeline.fetch_s, 8 * kLayerRowsBytes / 1e9, 1e-9);
  // Half of each row's columns go to the other node of a group.
  const KindAnswer group = Answer({Of({0, 1}, 0, kLayers)});
  EXPECT_NEAR(group.fetch_s, kLayers * kLayerRowsBytes / 2 / 1e9, 1e-9);
  // Both paths need the rows; layers that a node has in both share one KV cache.
  const KindAnswer disaggregated =
      Answer({Of({0}, 0, 8), Of({1}, 8, kLayers)}, {Of({1}, 0, kLayers)});
  EXPECT_EQ(disaggregated.held_tokens, kHeld);
  EXPECT_NEAR(disaggregated.fetch_s, kLayers * kLayerRowsBytes / 1e9, 1e-9);
}

TEST_F(KindsWithHeldRows, AreComputedWhereFetchingTakesLongerOrNoNodeHasAll) {
  problem_ = Problem({.round_trip_s = 1e-4, .bytes_per_s = 3e7});
  const double computing_s = Answer({Of({1}, 0, kLayers)}).first_token_s;
  Hold(Of({0}, 0, kLayers));  // 1.1 s
  EXPECT_NEAR(Answer({Of({1}, 0, kLayers)}).first_token_s, computing_s, 1e-9);
  EXPECT_EQ(Answer({Of({1}, 0, kLayers)}).held_tokens, 0u);
  problem_.held.clear();
  Hold(Of({1}, 0, kLayers - 1));
  EXPECT_EQ(Answer({Of({1}, 0, kLayers)}).held_tokens, 0u);
  // The nearest node with the last layer is asked.
  Hold(Of({0}, 8, kLayers));
  EXPECT_NEAR(Answer({Of({1}, 0, kLayers)}).fetch_s, kLayerRowsBytes / 3e7, 1e-9);
}

// For any choice, every layer is computed once by nodes that have memory for it, and no kind is
// more than a tenth faster.
TEST(KindSearch, AnswersCanBeComputed) {
  Random random(11);
  const auto between = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random.NextBelow(1000)) / 1000;
  };
  for (int round = 0; round < 25; ++round) {
    std::vector<double> reads(1 + random.NextBelow(5));
    for (double& rate : reads) rate = between(1e9, 2e10);
    KindProblem problem = ProblemOf(reads, {between(1e-5, 5e-3), between(1e7, 1e9)});
    SetMemory(problem, static_cast<uint64_t>(between(2e8, 2e9)));
    problem.prompt_tokens = static_cast<uint32_t>(1 + random.NextBelow(4000));
    problem.answer_tokens = static_cast<uint32_t>(1 + random.NextBelow(500));
    const auto answers = Search(problem);
    if (answers.empty()) continue;
    const auto chosen = ChooseKind(answers);
    ASSERT_TRUE(chosen);
    for (const KindAnswer& answer : answers) {
      EXPECT_GE(answer.request_s, 0.9 * answers[*chosen].request_s);
      EXPECT_GE(answer.first_token_s, answer.token_s * (1 - 1e-9));
      for (const auto* const parts : {&answer.parts, &answer.decode}) {
        uint32_t next = 0;
        for (const KindAnswer::Part& part : *parts) {
          EXPECT_EQ(part.begin, next);
          next = part.end;
          EXPECT_EQ(part.shares.size(), part.nodes.size() == 1 ? 0 : part.nodes.size());
          // Each node of a group has at least an equal share.
          const double bytes =
              (part.end - part.begin) * kLayerBytes / static_cast<double>(part.nodes.size());
          double room = 0;
          for (const size_t node : part.nodes)
            room = std::max(room, static_cast<double>(problem.split.nodes[node].memory_bytes));
          EXPECT_LE(bytes, room);
        }
        EXPECT_TRUE(parts->empty() || next == kLayers);
      }
    }
  }
}

}  // namespace
}  // namespace aster::plan
