// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Routes with groups, whose nodes compute the same layers together, say what one machine says.

#include <gtest/gtest.h>

#include <utility>

#include "conduct/cluster_for_test.h"
#include "engine/scheduler.h"

namespace aster::conduct {
namespace {

engine::Request Sampled(uint32_t tokens) {
  engine::Request request;
  request.max_tokens = tokens;
  request.sampling.temperature = 1;
  request.sampling.seed = 5;
  request.sampling.logprobs = true;
  return request;
}

class EveryGroup : public testing::TestWithParam<std::string> {
 protected:
  SystemClock clock_;
  const std::unique_ptr<engine::LocalModel> whole_ = plan::TestModel::Get().MakeWhole();
  engine::Scheduler scheduler_{*whole_, nullptr, clock_};
};

TEST_P(EveryGroup, GivesTheSameBits) {
  const std::vector<int32_t> tokens = model::RandomTokens(300, 298);
  TestCluster cluster(3);
  const auto conductor = cluster.Conduct(GetParam());
  const Status opened = conductor->Open();
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ(LogitsHash(*conductor, tokens), LogitsHash(scheduler_, tokens));

  engine::Sequence there = conductor->NewSequence(), here = scheduler_.NewSequence();
  there.SetHistory(tokens);
  here.SetHistory(tokens);
  EXPECT_EQ(Answer(*conductor, there, Sampled(12)), Answer(scheduler_, here, Sampled(12)));
  // Back, and on from there: every node of the group drops the same rows.
  there.Rewind(200);
  here.Rewind(200);
  there.Append(7);
  here.Append(7);
  EXPECT_EQ(Answer(*conductor, there, Sampled(12)), Answer(scheduler_, here, Sampled(12)));
  EXPECT_GT(conductor->counters().cached_tokens, 100u);
}

// Prompts and answers of several requests are computed in batches, in two frames at a time.
TEST_P(EveryGroup, AnswersSeveralAtOnce) {
  TestCluster cluster(3);
  const auto conductor = cluster.Conduct(GetParam());
  constexpr size_t kRequests = 5;
  std::vector<std::vector<int32_t>> expected, answers(kRequests);
  std::vector<engine::Sequence> sequences;
  for (size_t i = 0; i < kRequests; ++i) {
    const auto tokens = model::RandomTokens(20 + 45 * i, 298, /*seed=*/i);
    engine::Sequence here = scheduler_.NewSequence();
    here.SetHistory(tokens);
    expected.push_back(Answer(scheduler_, here, Sampled(9)));
    sequences.push_back(conductor->NewSequence());
    sequences.back().SetHistory(tokens);
  }
  for (size_t i = 0; i < kRequests; ++i) {
    engine::Request request = Sampled(9);
    request.sequence = &sequences[i];
    request.on_token = [&answers, i](const engine::Delta& delta) {
      answers[i].push_back(delta.choice.id);
    };
    ASSERT_TRUE(conductor->Submit(std::move(request)).ok());
  }
  while (!conductor->idle()) ASSERT_TRUE(conductor->Step().ok());
  EXPECT_EQ(answers, expected);
}

INSTANTIATE_TEST_SUITE_P(OfThreeNodes, EveryGroup,
                         testing::Values("a+b=0:out", "b+a=0:out", "3*a+2*b=0:out",
                                         "a+b=0:1,c=2:out", "c=0:0,a+b=1:out"));

class ConductorGroup : public testing::Test {
 protected:
  std::vector<int32_t> Expected(uint32_t count) {
    engine::Scheduler scheduler(*whole_, nullptr, clock_);
    engine::Sequence here = scheduler.NewSequence();
    here.SetHistory(tokens_);
    return Answer(scheduler, here, Sampled(count));
  }

  SystemClock clock_;
  const std::unique_ptr<engine::LocalModel> whole_ = plan::TestModel::Get().MakeWhole();
  const std::vector<int32_t> tokens_ = model::RandomTokens(150, 298);
};

// In the middle of an answer: a member that the node that leads cannot reach, and that node itself.
TEST_F(ConductorGroup, AnotherPlanGoesOnWhereANodeFails) {
  const std::vector<int32_t> expected = Expected(20);
  for (const auto& [one, other] : {std::pair(1, 2), std::pair(99, 1)}) {
    TestCluster cluster(3);
    const plan::Plan next =
        plan::ParseSplit("c=0:out", plan::kTestLayers, plan::TestNodes(3)).value();
    plan::TestModel::Get().Make(next.stages[0].slice, {});
    std::vector<wire::NodeId> lost;
    const auto conductor =
        cluster.Conduct("a+b=0:out", {}, [&](const plan::Plan&, auto nodes, const Error&) {
          lost.assign(nodes.begin(), nodes.end());
          return next;
        });
    engine::Sequence there = conductor->NewSequence();
    there.SetHistory(tokens_);
    engine::Request request = Sampled(20);
    int seen = 0;
    request.on_token = [&](const engine::Delta&) {
      if (++seen == 5) {
        cluster.hub().Cut(plan::TestNode(static_cast<uint64_t>(one)),
                          plan::TestNode(static_cast<uint64_t>(other)));
      }
    };
    EXPECT_EQ(Answer(*conductor, there, request), expected);
    EXPECT_EQ(conductor->counters().replans, 1u);
    ASSERT_EQ(lost.size(), 1u);
    EXPECT_EQ(lost[0], plan::TestNode(static_cast<uint64_t>(one == 1 ? 2 : 1)));
  }
}

TEST_F(ConductorGroup, AMemberThatIsNotThereIsNamed) {
  TestCluster cluster(1);
  cluster.Start();
  Conductor conductor(cluster.front(), plan::TestModel::Get().route_model(), nullptr,
                      plan::ParseSplit("a+b=0:out", plan::kTestLayers, plan::TestNodes(2)).value());
  const Status opened = conductor.Open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), Code::kUnavailable);
  EXPECT_NE(opened.error().message().find("b ("), std::string::npos) << opened.error().message();
}

// Rows that one node has computed for another front end go to both nodes of a group; and where it
// has whole rows of a prefix in memory, they are not computed again.
TEST_F(ConductorGroup, FetchesRowsOfOneNode) {
  TestCluster cluster(3);
  ConductorOptions options;
  options.ask_ns = options.fetch_silence_ns = 60 * kNsPerSecond;
  options.peers = [] {
    std::vector<KvPeer> peers;
    for (const plan::PlanNode& node : plan::TestNodes(3)) peers.push_back({.node = node});
    return peers;
  };
  const std::vector<int32_t> tokens = model::RandomTokens(600, 298);
  const auto alone = cluster.Conduct("c=0:out");
  engine::Sequence first = alone->NewSequence();
  first.SetHistory(tokens);
  const std::vector<int32_t> expected = Answer(*alone, first, Sampled(10));

  for (const model::Slice& slice : TestPlan("a+b=0:out", 3).stages[0].Slices())
    plan::TestModel::Get().Make(slice, {});
  auto network = cluster.hub().Join(plan::TestNode(98));
  Conductor group(*network, plan::TestModel::Get().route_model(), nullptr, TestPlan("a+b=0:out", 3),
                  options);
  engine::Sequence second = group.NewSequence();
  second.SetHistory(tokens);
  EXPECT_EQ(Answer(group, second, Sampled(10)), expected);
  EXPECT_EQ(group.counters().fetched_tokens, 512u);
  EXPECT_EQ(group.counters().fetches_given_up, 0u);
}

}  // namespace
}  // namespace aster::conduct
