// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Routes with groups, whose nodes compute the same layers together, give the answers of one
// machine.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
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

struct OneMachine {
  SystemClock clock_;
  const std::unique_ptr<engine::LocalModel> whole_ = plan::TestModel::Get().MakeWhole();
  engine::Scheduler scheduler_{*whole_, nullptr, clock_};
};

class EveryGroup : public testing::TestWithParam<std::string>, protected OneMachine {};
class OlderGroup : public testing::Test, protected OneMachine {};

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
  // Goes back and continues from there: every node of the group drops the same rows.
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

// The number of gathers and the time of sending are not sent to a node or front end that does not
// know them; others get them.
TEST_F(OlderGroup, TimesOfSendingAreForProgramsThatKnowThem) {
  const std::vector<int32_t> tokens = model::RandomTokens(40, 298);
  engine::Sequence here = scheduler_.NewSequence();
  here.SetHistory(tokens);
  const std::vector<int32_t> expected = Answer(scheduler_, here, Sampled(6));
  for (const uint64_t older : {0, 2, 3, 99}) {
    TestCluster cluster(3);
    if (older > 0) cluster.hub().LimitProtocol(plan::TestNode(older), wire::kBlocksProtocol - 1);
    const auto conductor = cluster.Conduct("a+b=0:1,c=2:out");
    engine::Sequence there = conductor->NewSequence();
    there.SetHistory(tokens);
    EXPECT_EQ(Answer(*conductor, there, Sampled(6)), expected);
    const HopFigures group = conductor->hops().front();
    EXPECT_GT(group.gather_bytes, 0u);
    // Times go through the last stage.
    const bool are_told = older == 0 || older == 2;
    EXPECT_EQ(group.gathers > 0, are_told) << older;
    EXPECT_EQ(group.gather_send_ns > 0, are_told) << older;
  }
}

// Groups whose nodes own experts.
class EveryOwnersGroup : public testing::TestWithParam<std::string> {};

TEST_P(EveryOwnersGroup, GivesTheSameBits) {
  SystemClock clock;
  plan::TestModel& model = plan::TestModel::WithExperts();
  const auto whole = model.MakeWhole();
  engine::Scheduler scheduler(*whole, nullptr, clock);
  const std::vector<int32_t> tokens = model::RandomTokens(200, 298);
  TestCluster cluster(4);
  const auto conductor = cluster.Conduct(GetParam(), model.route_model(), {}, nullptr);
  const Status opened = conductor->Open();
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ(LogitsHash(*conductor, tokens), LogitsHash(scheduler, tokens));
  engine::Sequence there = conductor->NewSequence(), here = scheduler.NewSequence();
  there.SetHistory(tokens);
  here.SetHistory(tokens);
  EXPECT_EQ(Answer(*conductor, there, Sampled(12)), Answer(scheduler, here, Sampled(12)));
}

INSTANTIATE_TEST_SUITE_P(OfNodes, EveryOwnersGroup,
                         testing::Values("a+b/experts=0:out", "3*b+2*a/experts*1=0:out",
                                         "a+b/experts*4=0:1,c+d=2:out",
                                         "a=0:1,b=2:out decode a+b/experts=0:out",
                                         "a+b/experts=0:out decode c=0:out"));

// A node fails in the middle of an answer.
TEST(OwnersGroup, AnotherPlanGoesOnWhereANodeFails) {
  SystemClock clock;
  plan::TestModel& model = plan::TestModel::WithExperts();
  const auto whole = model.MakeWhole();
  engine::Scheduler scheduler(*whole, nullptr, clock);
  const std::vector<int32_t> tokens = model::RandomTokens(150, 298);
  engine::Sequence here = scheduler.NewSequence();
  here.SetHistory(tokens);
  const plan::Plan next = TestPlan("c+a/experts=0:out", 3);
  for (const model::Slice& slice : next.stages[0].Slices()) model.Make(slice, {});
  TestCluster cluster(3);
  const auto conductor =
      cluster.Conduct("a+b/experts*1=0:out", model.route_model(), {},
                      [&](const plan::Plan&, auto, const Error&) { return next; });
  engine::Sequence there = conductor->NewSequence();
  there.SetHistory(tokens);
  engine::Request request = Sampled(20);
  int seen = 0;
  request.on_token = [&](const engine::Delta&) {
    if (++seen == 5) cluster.hub().Cut(plan::TestNode(1), plan::TestNode(2));
  };
  EXPECT_EQ(Answer(*conductor, there, request), Answer(scheduler, here, Sampled(20)));
  EXPECT_EQ(conductor->counters().replans, 1u);
}

TEST(OwnersGroup, ANodeOfAnEarlierProtocolIsNamed) {
  TestCluster cluster(2);
  cluster.hub().LimitProtocol(plan::TestNode(2), wire::kExpertsProtocol - 1);
  const auto conductor = cluster.Conduct("a+b/experts=0:out",
                                         plan::TestModel::WithExperts().route_model(), {}, nullptr);
  const Status opened = conductor->Open();
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message().find("needs protocol 9"), std::string::npos)
      << opened.error().message();
}

// The counts of a node alone decide which experts are on all nodes of a group that it leads.
TEST(OwnersGroup, TheMostUsedExpertsAreOnAllNodes) {
  SystemClock clock;
  plan::TestModel& model = plan::TestModel::WithExperts();
  const auto uses = std::make_shared<stage::ExpertUses>(/*folder=*/"");
  const std::vector<int32_t> tokens = model::RandomTokens(100, 298);
  TestCluster cluster(2, uint64_t{1} << 26, {.expert_uses = uses});
  const auto alone = cluster.Conduct("a=0:out", model.route_model(), {}, nullptr);
  engine::Sequence first = alone->NewSequence();
  first.SetHistory(tokens);
  const std::vector<int32_t> expected = Answer(*alone, first, Sampled(8));
  const auto use = uses->Of(plan::TestModel::kMixtureFingerprint, model.shape());
  const uint64_t choices = use->choices();
  // Only the last row of the prompt goes through the last layer's experts.
  const size_t rows = tokens.size() + expected.size() - 1;
  const size_t used = model.shape().experts.used;
  EXPECT_EQ(choices, (rows * (plan::kTestLayers - 1) + expected.size()) * used);

  const auto replicated = uses->Replicated(plan::TestModel::kMixtureFingerprint, 1);
  ASSERT_EQ(replicated, use->MostUsed(1));
  const plan::Plan plan = TestPlan("a+b/experts*1=0:out", 2);
  for (model::Slice slice : plan.stages[0].Slices()) {
    slice.part.replicated = replicated;
    model.Make(slice, {});
  }
  const auto network = cluster.hub().Join(plan::TestNode(98));
  Conductor group(*network, model.route_model(), nullptr, plan, {});
  engine::Sequence second = group.NewSequence();
  second.SetHistory(tokens);
  EXPECT_EQ(Answer(group, second, Sampled(8)), expected);
  // The leader counts for both, and a group computes all rows in every layer.
  EXPECT_LE(use->choices(), choices + rows * plan::kTestLayers * used);
  const auto has_them = [&] {
    const auto routes = cluster.node(1).Snapshot();
    return std::ranges::any_of(
        routes, [&](const auto& route) { return route.slice.part.replicated == replicated; });
  };
  const int64_t end_ns = clock.NowNs() + 60 * kNsPerSecond;
  while (!has_them() && clock.NowNs() < end_ns) clock.SleepFor(10 * kNsPerMs);
  EXPECT_TRUE(has_them());
}

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

// In the middle of an answer fails a member that the leading node cannot reach, or the leading node
// itself.
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

// Rows that one node has computed for another front end are sent to both nodes of a group; and if
// it has whole rows of a prefix in memory, they are not computed again.
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

// Until they have closed it, its nodes have the route under one of these ids.
TEST_F(ConductorGroup, AllIdsOfAClosedRouteAreToldBeforeTheNextPlan) {
  TestCluster cluster(3);
  std::set<wire::RouteId> reported, closed;
  ConductorOptions options;
  options.on_closed = [&](std::span<const wire::RouteId> ids) {
    closed.insert(ids.begin(), ids.end());
  };
  bool was_told = false;
  const auto conductor =
      cluster.Conduct("a+b=0:1,c=2:out", options,
                      [&](const plan::Plan& broken, auto, const Error&) -> Result<plan::Plan> {
                        was_told = closed == reported;
                        return broken;
                      });
  ASSERT_TRUE(conductor->Open().ok());
  for (size_t i = 0; i < 3; ++i) {
    std::vector<stage::StageRouteStatus> stages;
    const int64_t end_ns = clock_.NowNs() + 60 * kNsPerSecond;
    while (stages.empty() && clock_.NowNs() < end_ns) {
      clock_.SleepFor(10 * kNsPerMs);
      stages = cluster.node(i).Snapshot();
    }
    for (const stage::StageRouteStatus& stage : stages) reported.insert(stage.route);
  }
  EXPECT_EQ(reported.size(), 2u);
  EXPECT_TRUE(closed.empty());
  ASSERT_TRUE(conductor->Replan(Error(Code::kUnavailable, "another plan is better")).ok());
  EXPECT_TRUE(was_told);
}

}  // namespace
}  // namespace aster::conduct
