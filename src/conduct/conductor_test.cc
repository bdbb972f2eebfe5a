// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/conductor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "conduct/cluster_for_test.h"
#include "engine/scheduler.h"

namespace aster::conduct {
namespace {

class EverySplit : public testing::TestWithParam<std::string> {};

TEST_P(EverySplit, GivesTheSameBits) {
  const std::vector<int32_t> tokens = model::RandomTokens(300, 298);
  const auto whole = plan::TestModel::Get().MakeWhole();
  SystemClock clock;
  engine::Scheduler scheduler(*whole, nullptr, clock);
  TestCluster cluster(4);
  const auto conductor = cluster.Conduct(GetParam());
  ASSERT_TRUE(conductor->Open().ok());
  EXPECT_EQ(LogitsHash(*conductor, tokens), LogitsHash(scheduler, tokens));

  engine::Request request;
  request.max_tokens = 12;
  request.sampling.temperature = 1;
  request.sampling.seed = 5;
  request.sampling.logprobs = true;
  engine::Sequence there = conductor->NewSequence(), here = scheduler.NewSequence();
  there.SetHistory(tokens);
  here.SetHistory(tokens);
  EXPECT_EQ(Answer(*conductor, there, request), Answer(scheduler, here, request));
  // Goes back and continues from there.
  there.Rewind(200);
  here.Rewind(200);
  there.Append(7);
  here.Append(7);
  EXPECT_EQ(Answer(*conductor, there, request), Answer(scheduler, here, request));
  EXPECT_GT(conductor->counters().cached_tokens, 100u);
}

INSTANTIATE_TEST_SUITE_P(Of4Layers, EverySplit,
                         testing::Values("0:out", "0:0,1:out", "0:1,2:out", "0:2,3:out",
                                         "0:0,1:1,2:out", "0:0,1:1,2:2,3:out", "b=0:1,a=2:out",
                                         "a=0:1,b=2:2,a=3:out"));

TEST(Conductor, AWindowOverARouteIsTheWindowHere) {
  const model::MemoryOptions memory{.window = 128, .sinks = 4};
  const std::vector<int32_t> tokens = model::RandomTokens(700, 298);
  const auto whole = plan::TestModel::Get().MakeWhole(memory);
  SystemClock clock;
  engine::Scheduler scheduler(*whole, nullptr, clock);
  TestCluster cluster(2);
  ConductorOptions options;
  options.route.memory = memory;
  const auto conductor = cluster.Conduct("0:1,2:out", options);
  EXPECT_EQ(LogitsHash(*conductor, tokens), LogitsHash(scheduler, tokens));
  engine::Request request;
  request.max_tokens = 5;
  engine::Sequence there = conductor->NewSequence(), here = scheduler.NewSequence();
  there.SetHistory(tokens);
  here.SetHistory(tokens);
  EXPECT_EQ(Answer(*conductor, there, request), Answer(scheduler, here, request));
  // Goes back beyond the window: rows that have slid out are computed again.
  there.Rewind(300);
  here.Rewind(300);
  EXPECT_EQ(Answer(*conductor, there, request), Answer(scheduler, here, request));
}

TEST(Conductor, SmallFramesOfSlowStagesHaveTheSameBits) {
  const std::vector<int32_t> tokens = model::RandomTokens(300, 298);
  TestCluster cluster(2), of_pages(2);
  const auto pages = of_pages.Conduct("0:1,2:out");
  const Hash128 expected = LogitsHash(*pages, tokens);
  ConductorOptions options;
  options.longest_frame_ns = 1;
  const auto conductor = cluster.Conduct("0:1,2:out", options);
  EXPECT_EQ(LogitsHash(*conductor, tokens), expected);
  EXPECT_GT(conductor->counters().frames, pages->counters().frames);
}

TEST(Conductor, LogitsCanBeEditedHere) {
  const std::vector<int32_t> tokens = model::RandomTokens(70, 298);
  TestCluster cluster(2);
  const auto conductor = cluster.Conduct("0:1,2:out");
  engine::Sequence sequence = conductor->NewSequence();
  sequence.SetHistory(tokens);
  engine::Request request;
  request.max_tokens = 3;
  request.edit_logits = [](std::span<const int32_t>, std::span<float> logits) {
    std::fill(logits.begin(), logits.end(), -std::numeric_limits<float>::infinity());
    logits[42] = 0;
  };
  EXPECT_EQ(Answer(*conductor, sequence, request), (std::vector<int32_t>{42, 42, 42}));
}

TEST(Conductor, AnotherModelIsRefused) {
  TestCluster cluster(2);
  cluster.Start();
  plan::RouteModel model = plan::TestModel::Get().route_model();
  model.fingerprint.low ^= 1;
  Conductor conductor(cluster.front(), model, nullptr,
                      plan::ParseSplit("0:1,2:out", plan::kTestLayers, plan::TestNodes(2)).value());
  const Status opened = conductor.Open();
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message().find("no such model here"), std::string::npos);
}

TEST(Conductor, OtherArithmeticIsRefused) {
  TestCluster cluster(1);
  cluster.Start();
  plan::RouteModel model = plan::TestModel::Get().route_model();
  ++model.arithmetic;
  Conductor conductor(cluster.front(), model, nullptr,
                      plan::ParseSplit("0:out", plan::kTestLayers, plan::TestNodes(1)).value());
  const Status opened = conductor.Open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), Code::kFailedPrecondition);
}

TEST(Conductor, AMissingNodeIsNamedWithItsLayers) {
  TestCluster cluster(1);
  cluster.Start();
  Conductor conductor(cluster.front(), plan::TestModel::Get().route_model(), nullptr,
                      plan::ParseSplit("0:1,2:out", plan::kTestLayers, plan::TestNodes(2)).value());
  engine::Sequence sequence = conductor.NewSequence();
  sequence.SetHistory(model::RandomTokens(5, 298));
  const auto generated = engine::Generate(conductor, {.sequence = &sequence});
  ASSERT_FALSE(generated.ok());
  EXPECT_EQ(generated.error().code(), Code::kUnavailable);
  EXPECT_NE(generated.error().message().find("layers 2 to 3 and the head"), std::string::npos)
      << generated.error().message();
}

TEST(Conductor, AnotherOneTakesOverWhileARouteIsOpened) {
  TestCluster cluster(1);
  cluster.Start();
  plan::TestModel::Get().Make(
      {.layer_begin = 0, .layer_end = plan::kTestLayers, .embedding = true, .head = true}, {});
  const auto open = [&](uint32_t replans) {
    ConductorOptions options;
    options.max_open_replans = replans;
    Conductor conductor(
        cluster.front(), plan::TestModel::Get().route_model(), nullptr,
        plan::ParseSplit("0:1,2:out", plan::kTestLayers, plan::TestNodes(2)).value(), options,
        [](const plan::Plan&, std::span<const wire::NodeId> lost,
           const Error&) -> Result<plan::Plan> {
          EXPECT_EQ(std::vector(lost.begin(), lost.end()), std::vector{plan::TestNode(2)});
          return plan::ParseSplit("0:out", plan::kTestLayers, plan::TestNodes(1));
        });
    const Status opened = conductor.Open();
    EXPECT_EQ(conductor.plan().stages.size(), opened.ok() ? 1u : 2u);
    return opened.ok();
  };
  EXPECT_TRUE(open(1));
  EXPECT_FALSE(open(0));
}

TEST(Conductor, TheNodeThatLacksTheModelIsTheOneThatFails) {
  TestCluster cluster(2);
  cluster.Start();
  plan::RouteModel model = plan::TestModel::Get().route_model();
  model.fingerprint.low ^= 1;
  const plan::Plan plan =
      plan::ParseSplit("0:0,1:out", plan::kTestLayers, plan::TestNodes(2)).value();
  RouteClient route(cluster.front(), model, plan, {}, /*id=*/77);
  wire::RouteState state{.route = 77, .kind = wire::RouteState::Kind::kRefused};
  state.why = NotFound(fmt::format("layers 0 to 0 on node {}: none", plan::TestNode(1).ToText()));
  route.Handle({net::Event::Kind::kMessage, plan::TestNode(1), state, Ok()});
  ASSERT_EQ(route.state(), RouteClient::State::kBroken);
  EXPECT_EQ(route.lost(), std::vector{plan::TestNode(1)});
  EXPECT_EQ(route.why().message(),
            fmt::format("layers 0 to 0 on node a ({}): none", plan::TestNode(1).ToText()));
}

// A full disk on one node made every automatic plan fail.
TEST(Conductor, ANodeThatCannotLoadIsTheOneThatFails) {
  for (const Code code : {Code::kResourceExhausted, Code::kPermissionDenied, Code::kDataLoss,
                          Code::kFailedPrecondition}) {
    TestCluster cluster(2);
    cluster.Start();
    const plan::Plan plan =
        plan::ParseSplit("0:0,1:out", plan::kTestLayers, plan::TestNodes(2)).value();
    RouteClient route(cluster.front(), plan::TestModel::Get().route_model(), plan, {}, /*id=*/77);
    wire::RouteState state{.route = 77, .kind = wire::RouteState::Kind::kRefused};
    state.why = Error(code, "no");
    route.Handle({net::Event::Kind::kMessage, plan::TestNode(2), state, Ok()});
    ASSERT_EQ(route.state(), RouteClient::State::kBroken);
    // If no machine can do it, the node does not count as lost.
    EXPECT_EQ(route.lost().size(), code == Code::kFailedPrecondition ? 0u : 1u) << CodeName(code);
  }
}

TEST(Conductor, StaleMessagesDoNotBreakANewRoute) {
  TestCluster cluster(1);
  cluster.Start();
  RouteClient route(cluster.front(), plan::TestModel::Get().route_model(),
                    plan::ParseSplit("0:out", plan::kTestLayers, plan::TestNodes(1)).value(), {},
                    /*id=*/78);
  net::Event down{
      net::Event::Kind::kDown, plan::TestNode(1), {}, Error(Code::kUnavailable, "gone")};
  down.arrived_ns = 1;  // long before the route was
  route.Handle(down);
  EXPECT_NE(route.state(), RouteClient::State::kBroken);
  down.arrived_ns = cluster.clock().NowNs();
  route.Handle(down);
  EXPECT_EQ(route.state(), RouteClient::State::kBroken);
}

TEST(Conductor, LayersOfTwoRoutesAreCountedOnce) {
  TestCluster cluster(1);
  const auto first = cluster.Conduct("0:out");
  Conductor second(cluster.front(), plan::TestModel::Get().route_model(), nullptr, first->plan());
  ASSERT_TRUE(first->Open().ok());
  ASSERT_TRUE(second.Open().ok());
  std::vector<stage::StageRouteStatus> stages = cluster.node(0).Snapshot();
  for (int i = 0; i < 1000 && stages.size() < 2; ++i) {
    cluster.clock().SleepFor(10 * kNsPerMs);
    stages = cluster.node(0).Snapshot();
  }
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[0].is_counted + stages[1].is_counted, 1);
}

TEST(Conductor, ContinuesOnOtherNodesWithTheSameText) {
  const std::vector<int32_t> tokens = model::RandomTokens(150, 298);
  const auto whole = plan::TestModel::Get().MakeWhole();
  SystemClock clock;
  engine::Scheduler scheduler(*whole, nullptr, clock);
  engine::Request request;
  request.max_tokens = 20;
  engine::Sequence here = scheduler.NewSequence();
  here.SetHistory(tokens);
  const std::vector<int32_t> expected = Answer(scheduler, here, request);

  TestCluster cluster(3);
  const plan::Plan other =
      plan::ParseSplit("a=0:1,c=2:out", plan::kTestLayers, plan::TestNodes(3)).value();
  const auto conductor = cluster.Conduct(
      "a=0:1,b=2:out", {}, [&](const plan::Plan&, auto, const Error&) { return other; });
  engine::Sequence there = conductor->NewSequence();
  there.SetHistory(tokens);
  int seen = 0;
  request.on_token = [&](const engine::Delta&) {
    if (++seen == 5) cluster.hub().Cut(plan::TestNode(99), plan::TestNode(2));
  };
  EXPECT_EQ(Answer(*conductor, there, request), expected);
  EXPECT_EQ(conductor->counters().replans, 1u);
}

TEST(Conductor, AnotherPlanInTheMiddleGivesTheSameText) {
  TestCluster cluster(3);
  std::string next = "c=0:out";
  const auto conductor =
      cluster.Conduct("a=0:1,b=2:out", {},
                      [&](const plan::Plan&, std::span<const wire::NodeId> lost,
                          const Error& why) -> Result<plan::Plan> {
                        EXPECT_TRUE(lost.empty());
                        if (next.empty()) return why;
                        return plan::ParseSplit(next, plan::kTestLayers, plan::TestNodes(3));
                      });
  const std::vector<int32_t> tokens = model::RandomTokens(150, 298);
  const Error why(Code::kUnavailable, "b is drained");
  // The answer if the plan is replaced after `replan_after` tokens, or never.
  const auto answer = [&](size_t replan_after) {
    engine::Sequence sequence = conductor->NewSequence();
    sequence.SetHistory(tokens);
    std::vector<int32_t> ids;
    bool is_over = false;
    engine::Request request;
    request.sequence = &sequence;
    request.max_tokens = 20;
    request.on_token = [&](const engine::Delta& delta) { ids.push_back(delta.choice.id); };
    request.on_finish = [&](const engine::Finish&) { is_over = true; };
    EXPECT_TRUE(conductor->Submit(std::move(request)).ok());
    while (!is_over && conductor->Step().ok()) {
      if (ids.size() < replan_after) continue;
      EXPECT_TRUE(conductor->Replan(why).ok());
      EXPECT_EQ(conductor->plan().stages.size(), 1U);
      replan_after = SIZE_MAX;
    }
    return ids;
  };
  const std::vector<int32_t> expected = answer(SIZE_MAX);
  EXPECT_EQ(expected.size(), 20U);
  EXPECT_EQ(answer(5), expected);
  // A route is also replaced while no request runs.
  next = "a=0:1,b=2:out";
  ASSERT_TRUE(conductor->Replan(why).ok());
  EXPECT_EQ(conductor->hops().size(), 2U);
  // A plan that cannot be replaced is kept.
  next.clear();
  EXPECT_EQ(conductor->Replan(why).error().message(), "b is drained");
  EXPECT_EQ(answer(SIZE_MAX), expected);
  EXPECT_EQ(conductor->counters().replans, 2U);
}

TEST(Conductor, InexactRowsAreCloseAndKeptApart) {
  const std::vector<int32_t> tokens = model::RandomTokens(100, 298);
  const auto whole = plan::TestModel::Get().MakeWhole();
  std::vector<float> exact;
  SystemClock clock;
  engine::Scheduler scheduler(*whole, nullptr, clock);
  ASSERT_TRUE(scheduler
                  .LogitsOf(tokens, 64,
                            [&](std::span<const float> row) {
                              exact.insert(exact.end(), row.begin(), row.end());
                              return Ok();
                            })
                  .ok());
  TestCluster cluster(2);
  for (const auto encoding : {wire::RowEncoding::kBf16, wire::RowEncoding::kQ8}) {
    net::Network& front = cluster.front();
    ConductorOptions options;
    options.route.encoding = encoding;
    if (encoding == wire::RowEncoding::kBf16) cluster.Start();
    Conductor conductor(
        front, plan::TestModel::Get().route_model(), nullptr,
        plan::ParseSplit("0:1,2:out", plan::kTestLayers, plan::TestNodes(2)).value(), options);
    size_t i = 0;
    double error = 0, scale = 0;
    const Status status = conductor.LogitsOf(tokens, 64, [&](std::span<const float> row) {
      for (const float value : row) {
        error += (value - exact[i]) * (value - exact[i]);
        scale += exact[i] * exact[i];
        ++i;
      }
      return Ok();
    });
    ASSERT_TRUE(status.ok()) << status.error().message();
    EXPECT_GT(error, 0);
    EXPECT_LT(error, scale * 0.01);
  }
}

}  // namespace
}  // namespace aster::conduct
