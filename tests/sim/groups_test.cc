// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Groups of several front ends on the same nodes, on a virtual clock: whichever node leads, and
// whichever link breaks, no node waits for ever, and every answer is that of one machine.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/sanitized.h"
#include "conduct/conductor.h"
#include "engine/answers_for_test.h"
#include "engine/scheduler.h"
#include "sim_network.h"
#include "stage/gpu_slice_source_for_test.h"
#include "stage/slice_source_for_test.h"
#include "stage/stage_server.h"

namespace aster::sim {
namespace {

// Long after the last answer of these tests, and long before a front end gives up.
constexpr int64_t kLongestAnswersNs = 60 * kNsPerSecond;

wire::NodeId FrontNode(size_t index) { return plan::TestNode(99 + index); }

// Of nodes whose heads are divided among three: they compute much, with sanitizers very much.
constexpr uint64_t kSeedsOfThreeNodes = kSanitized ? 1 : 3;

// Three nodes, and a front end for each of the splits.
class Fronts {
 public:
  Fronts(plan::TestModel& model, const std::vector<std::string>& splits, uint64_t seed,
         std::unique_ptr<stage::SliceSource> source = std::make_unique<stage::TestSliceSource>())
      : model_(model), random_(seed), source_(std::move(source)) {
    for (const plan::PlanNode& node : plan::TestNodes(3)) {
      GroupNode& added = *nodes_.emplace_back(std::make_unique<GroupNode>());
      added.network = std::make_unique<SimNetwork>(hub_, node.id);
      added.server = std::make_unique<stage::StageServer>(*added.network, *source_);
      hub_.Add(node.id, [&added](net::Event event) { added.inbox.push_back(std::move(event)); });
    }
    for (const std::string& split : splits) {
      const wire::NodeId id = FrontNode(fronts_.size());
      Front& front = *fronts_.emplace_back(std::make_unique<Front>());
      front.network = std::make_unique<SimNetwork>(hub_, id);
      hub_.Add(id, [&front](net::Event event) { front.conductor->Handle(std::move(event)); });
      conduct::ConductorOptions options;
      options.id_seed = id.value.low << 32;
      front.conductor = std::make_unique<conduct::Conductor>(
          *front.network, model_.route_model(), nullptr,
          plan::ParseSplit(split, plan::kTestLayers, plan::TestNodes(3)).value(), options);
    }
  }
  ~Fronts() {
    for (const auto& front : fronts_) front->conductor.reset();
    for (const auto& node : nodes_) node->server.reset();
  }

  // The front end gets this many requests, in which `tokens` tokens follow a prompt.
  void Ask(size_t front, size_t requests, uint64_t tokens) {
    for (size_t i = 0; i < requests; ++i) {
      Asked& asked = *asked_.emplace_back(std::make_unique<Asked>());
      asked.prompt = model::RandomTokens(150 + 90 * i, 298, asked_.size());
      asked.tokens = tokens;
      asked.sequence.emplace(fronts_[front]->conductor->NewSequence());
      asked.sequence->SetHistory(asked.prompt);
      engine::Request request;
      request.sequence = &*asked.sequence;
      request.max_tokens = tokens;
      request.context_limit = 2000;
      request.on_token = [&asked](const engine::Delta& delta) {
        asked.answer.push_back(delta.choice.id);
      };
      request.on_finish = [&asked](const engine::Finish& finish) { asked.finish = finish; };
      ASSERT_TRUE(fronts_[front]->conductor->Submit(std::move(request)).ok());
    }
  }
  // Until all requests have ended; false if they do not.
  bool Finish() {
    return RunUntil([](const Asked& asked) { return asked.finish.has_value(); });
  }
  // Until every answer has begun.
  bool Begin() {
    return RunUntil([](const Asked& asked) { return asked.answer.size() > 2; });
  }
  // Until messages that are under way now have arrived, and lost links are noticed.
  void Settle() {
    const int64_t end_ns = clock_.NowNs() + 10 * kNsPerSecond;
    while (clock_.NowNs() < end_ns) Step(end_ns);
  }
  SimHub& hub() { return hub_; }

  // How many requests have the answer of one machine.
  size_t CountRight() {
    const auto whole = model_.MakeWhole();
    engine::Scheduler scheduler(*whole, nullptr, clock_);
    return static_cast<size_t>(std::ranges::count_if(asked_, [&](const auto& asked) {
      engine::Sequence sequence = scheduler.NewSequence();
      sequence.SetHistory(asked->prompt);
      engine::Request request;
      request.sequence = &sequence;
      request.max_tokens = asked->tokens;
      request.context_limit = 2000;
      auto generated = engine::Generate(scheduler, std::move(request));
      return generated.ok() && generated->tokens == asked->answer;
    }));
  }

 private:
  struct GroupNode {
    std::unique_ptr<SimNetwork> network;
    std::unique_ptr<stage::StageServer> server;
    std::vector<net::Event> inbox;
    int64_t busy_until_ns = 0;
  };
  struct Front {
    std::unique_ptr<SimNetwork> network;
    std::unique_ptr<conduct::Conductor> conductor;
  };
  struct Asked {
    std::vector<int32_t> prompt;
    uint64_t tokens = 0;
    std::optional<engine::Sequence> sequence;
    std::vector<int32_t> answer;
    std::optional<engine::Finish> finish;
  };

  template <typename IsDone>
  bool RunUntil(IsDone is_done) {
    const int64_t end_ns = clock_.NowNs() + kLongestAnswersNs;
    const auto are_done = [&] {
      return std::ranges::all_of(asked_, [&](const auto& asked) { return is_done(*asked); });
    };
    while (!are_done() && clock_.NowNs() < end_ns) Step(end_ns);
    return are_done();
  }

  void Step(int64_t end_ns) {
    int64_t next_ns = std::min(end_ns, hub_.next_ns());
    for (const auto& front : fronts_) {
      front->conductor->Tick();
      next_ns = std::min(next_ns, front->conductor->next_tick_ns());
    }
    next_ns = std::min(next_ns, hub_.next_ns());
    for (const auto& node : nodes_) {
      const bool has_work = !node->inbox.empty() || node->server->has_work();
      if (has_work) next_ns = std::min(next_ns, node->busy_until_ns);
    }
    clock_.AdvanceTo(std::max(next_ns, clock_.NowNs()));
    while (hub_.next_ns() <= clock_.NowNs()) hub_.DeliverNext();
    for (const auto& node : nodes_) Run(*node);
  }

  void Run(GroupNode& node) {
    if (node.busy_until_ns > clock_.NowNs()) return;
    for (net::Event& event : std::exchange(node.inbox, {})) node.server->Handle(std::move(event));
    node.server->Tick();
    if (!node.server->has_work()) return;
    const int64_t cost_ns = static_cast<int64_t>(1 + random_.NextBelow(2000)) * kNsPerUs;
    hub_.SetSendDelay(cost_ns);
    node.server->Compute();
    hub_.SetSendDelay(0);
    node.busy_until_ns = clock_.NowNs() + cost_ns;
  }

  plan::TestModel& model_;
  VirtualClock clock_;
  Random random_;
  Trace trace_{false};
  SimHub hub_{clock_, random_, trace_};
  const std::unique_ptr<stage::SliceSource> source_;
  std::vector<std::unique_ptr<GroupNode>> nodes_;
  std::vector<std::unique_ptr<Front>> fronts_;
  std::vector<std::unique_ptr<Asked>> asked_;
};

// A model whose heads are divided among three nodes.
plan::TestModel& ThreeNodesModel() { return plan::TestModel::OfFamily(model::Arch::kDeepSeek2); }

// Two front ends, whose groups have the same nodes. Each node leads one of them, and has as many
// frames of it in flight as it may.
TEST(Groups, OfTheSameNodesHaveDifferentLeaders) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Fronts fronts(plan::TestModel::Get(), {"a+b=0:out", "b+a=0:out"}, seed);
    for (size_t front = 0; front < 2; ++front) fronts.Ask(front, 4, 12);
    EXPECT_TRUE(fronts.Finish()) << seed;
    EXPECT_EQ(fronts.CountRight(), 8u) << seed;
  }
}

// The same with GPUs, which compute one frame while messages about others come.
TEST(Groups, OfTheSameNodesHaveDifferentLeadersWithGpus) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    Fronts fronts(plan::TestModel::Get(), {"a+b=0:out", "b+a=0:out"}, seed,
                  std::make_unique<stage::GpuSliceSource>(engine::FakeGpuPlan{.looks = 3}));
    for (size_t front = 0; front < 2; ++front) fronts.Ask(front, 3, 8);
    EXPECT_TRUE(fronts.Finish()) << seed;
    EXPECT_EQ(fronts.CountRight(), 6u) << seed;
  }
}

TEST(Groups, OfThreeNodesAndOfTwoOfThem) {
  for (uint64_t seed = 0; seed < kSeedsOfThreeNodes; ++seed) {
    Fronts fronts(ThreeNodesModel(), {"a+b+c=0:out", "b+c=0:out", "c+a+b=0:out"}, seed);
    for (size_t front = 0; front < 3; ++front) fronts.Ask(front, 4, 8);
    EXPECT_TRUE(fronts.Finish()) << seed;
    EXPECT_EQ(fronts.CountRight(), 12u) << seed;
  }
}

// The route of a group ends in the middle of its frames: every node goes on for other front ends.
TEST(Groups, ThatEndInMidFrameBlockNoNode) {
  const wire::NodeId a = plan::TestNode(1), b = plan::TestNode(2), c = plan::TestNode(3);
  const std::vector<std::pair<wire::NodeId, wire::NodeId>> links = {
      {FrontNode(0), a}, {a, b}, {b, c}};
  for (const auto& [from, to] : links) {
    for (uint64_t seed = 0; seed < kSeedsOfThreeNodes; ++seed) {
      Fronts fronts(ThreeNodesModel(), {"a+b+c=0:out", "b=0:out", "c=0:out", "a+c=0:out"}, seed);
      fronts.Ask(0, 2, 200);
      ASSERT_TRUE(fronts.Begin());
      fronts.hub().Cut(from, to);
      EXPECT_TRUE(fronts.Finish());
      fronts.Settle();
      for (size_t front = 1; front < 4; ++front) fronts.Ask(front, 1, 8);
      EXPECT_TRUE(fronts.Finish()) << from.ToText() << " " << to.ToText();
      EXPECT_EQ(fronts.CountRight(), 3u) << from.ToText() << " " << to.ToText();
    }
  }
}

}  // namespace
}  // namespace aster::sim
