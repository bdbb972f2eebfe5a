// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Nodes that hold KV rows send them to nodes that need them: after layers have moved, from other
// routes, and from nodes outside of routes. Tokens that are computed again are counted, and answers
// are those of one machine.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "conduct/cluster_for_test.h"
#include "conduct/parts_for_test.h"
#include "engine/scheduler.h"

namespace aster::conduct {
namespace {

engine::Request AskingToSearch(uint64_t tokens) {
  engine::Request request;
  request.max_tokens = tokens;
  return request;
}

// No timeout is short enough to fail on a slow machine.
ConductorOptions LongTimeouts() {
  ConductorOptions options;
  options.ask_ns = 60 * kNsPerSecond;
  options.fetch_silence_ns = 60 * kNsPerSecond;
  return options;
}

std::vector<int32_t> OnOneMachine(const std::vector<int32_t>& tokens, uint64_t count) {
  const auto whole = plan::TestModel::Get().MakeWhole();
  SystemClock clock;
  engine::Scheduler scheduler(*whole, nullptr, clock);
  engine::Sequence sequence = scheduler.NewSequence();
  sequence.SetHistory(tokens);
  return Answer(scheduler, sequence, AskingToSearch(count));
}

// A node is lost during an answer, and the next plan is given.
class Failover : public testing::Test {
 protected:
  // How many of 900 tokens of a prompt and some of an answer were computed again.
  uint64_t ComputedAgain(const std::string& before, size_t node, const std::string& after) {
    TestCluster cluster(4);
    for (const plan::PlanStage& stage : TestPlan(after, 4).AllStages()) {
      plan::TestModel::Get().Make(stage.slice, {});
    }
    const auto conductor =
        cluster.Conduct(before, LongTimeouts(),
                        [&](const plan::Plan&, std::span<const wire::NodeId>,
                            const Error&) -> Result<plan::Plan> { return TestPlan(after, 4); });
    const std::vector<int32_t> tokens = model::RandomTokens(900, kTestVocab);
    engine::Sequence sequence = conductor->NewSequence();
    sequence.SetHistory(tokens);
    engine::Request request = AskingToSearch(20);
    // Each token is chosen here, so stages do not decode by themselves.
    request.edit_logits = [](std::span<const int32_t>, std::span<float>) {};
    size_t seen = 0;
    request.on_token = [&](const engine::Delta&) {
      if (++seen != 5) return;
      cluster.node(node).Stop();
      cluster.hub().Cut(plan::TestNode(99), plan::TestNode(node + 1));
    };
    EXPECT_EQ(Answer(*conductor, sequence, std::move(request)), OnOneMachine(tokens, 20));
    EXPECT_GE(conductor->counters().replans, 1u);
    fetched_ = conductor->counters().fetched_tokens;
    return conductor->counters().replayed_tokens;
  }

  uint64_t fetched_ = 0;
};

// Pages are published when they are full: at least 896 of the 904 positions.
constexpr uint64_t kNothingButTheTail = 20 + 900 - 896;

TEST_F(Failover, TheDecodeNodeDiesAndThePrefillNodesRowsGoToTheNext) {
  EXPECT_LE(ComputedAgain("a=0:1,b=2:out decode c", 2, "a=0:1,b=2:out decode d"),
            kNothingButTheTail);
}

TEST_F(Failover, TheDecodeNodeDiesAndAPrefillNodeDecodesWithItsOwnRowsAndTheOthers) {
  EXPECT_LE(ComputedAgain("a=0:1,b=2:out decode c", 2, "a=0:1,b=2:out decode a"),
            kNothingButTheTail);
  EXPECT_GE(fetched_, 896u);
}

TEST_F(Failover, TheDecodeNodeDiesAndThePrefillNodesSplitTheLayersAgain) {
  EXPECT_LE(ComputedAgain("a=0:1,b=2:out decode c", 2, "a=0:0,b=1:out"), kNothingButTheTail);
  EXPECT_GE(fetched_, 896u);
}

TEST_F(Failover, APrefillNodeDiesAndTheDecodeNodesRowsGoToAThird) {
  EXPECT_LE(ComputedAgain("a=0:1,b=2:out decode c", 1, "a=0:1,d=2:out decode c"),
            kNothingButTheTail);
}

TEST_F(Failover, APrefillNodeDiesAndItsRowsGoBackFromTheDecodeNode) {
  EXPECT_LE(ComputedAgain("a=0:1,b=2:out decode c", 1, "a=0:1,c=2:out"), kNothingButTheTail);
}

TEST_F(Failover, RowsThatNoNodeHasAreComputedAgain) {
  // b's layers are lost with it, and no other node has them: all is computed again.
  EXPECT_GE(ComputedAgain("a=0:1,b=2:out", 1, "a=0:1,c=2:out"), 900u);
  EXPECT_EQ(fetched_, 0u);
}

// Another front end has sent the same request to other nodes.
class ClusterCache : public testing::Test {
 protected:
  std::vector<int32_t> tokens_ = model::RandomTokens(700, kTestVocab);

  ConductorOptions WithPeers(size_t count) {
    ConductorOptions options = LongTimeouts();
    options.peers = [count] {
      std::vector<KvPeer> peers;
      for (const plan::PlanNode& node : plan::TestNodes(count)) peers.push_back({.node = node});
      return peers;
    };
    return options;
  }
};

TEST_F(ClusterCache, ANodeOfNoRouteSendsItsRows) {
  TestCluster cluster(4);
  {
    const auto first = cluster.Conduct("d");
    engine::Sequence sequence = first->NewSequence();
    sequence.SetHistory(tokens_);
    Answer(*first, sequence, AskingToSearch(4));
  }
  const plan::Plan plan = TestPlan("a=0:1,b=2:out", 4);
  for (const plan::PlanStage& stage : plan.AllStages())
    plan::TestModel::Get().Make(stage.slice, {});
  Conductor second(cluster.front(), plan::TestModel::Get().route_model(), nullptr, plan,
                   WithPeers(4));
  engine::Sequence sequence = second.NewSequence();
  sequence.SetHistory(tokens_);
  EXPECT_EQ(Answer(second, sequence, AskingToSearch(8)), OnOneMachine(tokens_, 8));
  EXPECT_EQ(second.counters().fetched_tokens, 640u);
  EXPECT_EQ(second.counters().prefill_tokens, 60u);
  ASSERT_EQ(second.fetched().size(), 1u);
  EXPECT_EQ(second.fetched().begin()->second.name, "d");
  EXPECT_GT(second.fetched().begin()->second.bytes, 0u);
}

TEST_F(ClusterCache, RowsOfWindowsAreFetchedToo) {
  TestCluster cluster(4);
  ConductorOptions options = WithPeers(4);
  options.route.memory = {.window = 200, .sinks = 4};
  const auto whole = plan::TestModel::Get().MakeWhole(options.route.memory);
  SystemClock clock;
  engine::Scheduler scheduler(*whole, nullptr, clock);
  engine::Sequence here = scheduler.NewSequence();
  here.SetHistory(tokens_);
  const std::vector<int32_t> expected = Answer(scheduler, here, AskingToSearch(8));
  {
    const auto first = cluster.Conduct("d", options);
    engine::Sequence sequence = first->NewSequence();
    sequence.SetHistory(tokens_);
    EXPECT_EQ(Answer(*first, sequence, AskingToSearch(8)), expected);
  }
  Conductor second(cluster.front(), plan::TestModel::Get().route_model(), nullptr,
                   TestPlan("a=0:1,b=2:out", 4), options);
  engine::Sequence sequence = second.NewSequence();
  sequence.SetHistory(tokens_);
  EXPECT_EQ(Answer(second, sequence, AskingToSearch(8)), expected);
  EXPECT_GT(second.counters().fetched_tokens, 0u);
  EXPECT_EQ(second.counters().fetches_given_up, 0u);
}

TEST_F(ClusterCache, RowsThatAreSlowerToFetchAreComputed) {
  TestCluster cluster(4);
  {
    const auto first = cluster.Conduct("d");
    engine::Sequence sequence = first->NewSequence();
    sequence.SetHistory(tokens_);
    Answer(*first, sequence, AskingToSearch(4));
  }
  ConductorOptions options = WithPeers(0);
  options.prefill_tokens_per_s = 1e9;
  options.peers = [] {
    return std::vector<KvPeer>{{.node = plan::TestNodes(4)[3], .bytes_per_s = 1000}};
  };
  Conductor second(cluster.front(), plan::TestModel::Get().route_model(), nullptr,
                   TestPlan("a=0:1,b=2:out", 4), options);
  engine::Sequence sequence = second.NewSequence();
  sequence.SetHistory(tokens_);
  EXPECT_EQ(Answer(second, sequence, AskingToSearch(8)), OnOneMachine(tokens_, 8));
  EXPECT_EQ(second.counters().fetched_tokens, 0u);
  EXPECT_EQ(second.counters().prefill_tokens, 700u);
}

// A peer that replies to queries late, again and again.
class LatePeer {
 public:
  LatePeer(std::unique_ptr<net::MemoryNetwork> network, int64_t late_ns)
      : network_(std::move(network)), late_ns_(late_ns), thread_([this] { Main(); }) {}
  ~LatePeer() {
    is_over_ = true;
    thread_.join();
  }

 private:
  void Main() {
    std::optional<std::pair<wire::NodeId, uint64_t>> asked;
    int64_t answer_ns = 0;
    while (!is_over_) {
      const int64_t now_ns = network_->clock().NowNs();
      if (auto event = network_->Receive(now_ns + 10 * kNsPerMs)) {
        const auto* seek = std::get_if<wire::FindKv>(&event->message);
        if (event->kind != net::Event::Kind::kMessage || seek == nullptr || asked) continue;
        asked = {event->from, seek->query};
        answer_ns = now_ns + late_ns_;
      }
      if (!asked || network_->clock().NowNs() < answer_ns) continue;
      const wire::FoundKv found{.query = asked->second, .held = {}};
      static_cast<void>(network_->Send(asked->first, found));  // it may be gone
    }
  }

  const std::unique_ptr<net::MemoryNetwork> network_;
  const int64_t late_ns_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

// Another node has the text: its rows are fetched meanwhile, and the late reply changes nothing.
TEST_F(ClusterCache, ASilentNodeIsNotWaitedFor) {
  TestCluster cluster(4);
  {
    const auto first = cluster.Conduct("d");
    engine::Sequence sequence = first->NewSequence();
    sequence.SetHistory(tokens_);
    Answer(*first, sequence, AskingToSearch(4));
  }
  ConductorOptions options = WithPeers(5);
  options.ask_ns = 2 * kNsPerSecond;
  LatePeer late(cluster.hub().Join(plan::TestNode(5)), options.ask_ns + 100 * kNsPerMs);
  // The delay lets the late replies arrive while the other node sends rows.
  cluster.hub().Delay(plan::TestNode(4), plan::TestNode(1), 400 * kNsPerMs);
  Conductor second(cluster.front(), plan::TestModel::Get().route_model(), nullptr,
                   TestPlan("a=0:1,b=2:out", 4), options);
  engine::Sequence sequence = second.NewSequence();
  sequence.SetHistory(tokens_);
  EXPECT_EQ(Answer(second, sequence, AskingToSearch(8)), OnOneMachine(tokens_, 8));
  EXPECT_EQ(second.counters().fetched_tokens, 640u);
  EXPECT_EQ(second.counters().fetches_given_up, 0u);
  EXPECT_EQ(second.counters().prefill_tokens, 60u);
}

// A node that does not know queries gets none, and computes as before.
TEST_F(ClusterCache, AnOlderNodeIsOnTheRouteAndIsNotAsked) {
  TestCluster cluster(4);
  cluster.hub().LimitProtocol(plan::TestNode(2), wire::kKvTransferProtocol);
  ConductorOptions options = WithPeers(4);
  const auto conductor = cluster.Conduct("a=0:1,b=2:out decode b", options);
  engine::Sequence sequence = conductor->NewSequence();
  sequence.SetHistory(tokens_);
  engine::Request request = AskingToSearch(8);
  // It decodes by itself, and could draft.
  request.draft = {.kind = engine::DraftKind::kNgram, .most = 4};
  EXPECT_EQ(Answer(*conductor, sequence, std::move(request)), OnOneMachine(tokens_, 8));
  EXPECT_EQ(conductor->counters().replans, 0u);
}

TEST_F(ClusterCache, ANodeThatCannotBeOnARouteIsNamedWithBothVersions) {
  TestCluster cluster(4);
  cluster.hub().LimitProtocol(plan::TestNode(2), wire::kInstanceProtocol);
  const auto conductor = cluster.Conduct("a=0:1,b=2:out", LongTimeouts());
  const Status opened = conductor->Open();
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message().find("speaks protocol 2, and routes need 3"),
            std::string::npos)
      << opened.error().message();
}

}  // namespace
}  // namespace aster::conduct
