// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Routes of a stage server: which are opened, and how long their slices are kept.

#include "stage/stage_server.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "net/memory_network.h"
#include "plan/route_model.h"
#include "stage/slice_source_for_test.h"

namespace aster::stage {
namespace {

// Slices that load at once, or not while they `hang`.
class CountingSource final : public SliceSource {
 public:
  Result<std::unique_ptr<SliceLoading>> Start(const SliceRequest& request) override {
    ++started;
    return (hangs ? never_ : at_once_).Start(request);
  }

  int started = 0;
  bool hangs = false;

 private:
  TestSliceSource at_once_;
  TestSliceSource never_{uint64_t{1} << 26, /*looks=*/1000};
};

// Node a, and front ends that open routes on it.
class StageServerTest : public testing::Test {
 protected:
  StageServerTest() { front_->Introduce(node_->self(), {}); }

  // The first stage of a route has these layers, another node has those behind them.
  static wire::OpenRoute RouteTo(wire::RouteId id, uint32_t layer_end = plan::kTestLayers) {
    wire::OpenRoute open;
    open.route = id;
    open.conductor.node = plan::TestNode(99);
    open.fingerprint = plan::TestModel::kFingerprint;
    open.arithmetic = kernels::kArithmeticVersion;
    for (uint32_t begin = 0; begin < plan::kTestLayers;) {
      const bool is_first = begin == 0;
      const uint32_t end = is_first ? layer_end : plan::kTestLayers;
      open.stages.push_back({.node = plan::TestNode(is_first ? 1 : 2),
                             .name = is_first ? "a" : "b",
                             .addresses = {},
                             .layer_begin = begin,
                             .layer_end = end,
                             .embedding = is_first,
                             .head = end == plan::kTestLayers});
      begin = end;
    }
    return open;
  }
  // Both paths of the route have one stage on node a, which leads a group with node b there.
  static wire::OpenRoute TwoPaths(wire::RouteId id) {
    wire::OpenRoute open = RouteTo(id);
    open.stages.push_back(open.stages[0]);
    open.decode_stages = 1;
    for (uint32_t stage = 0; stage < 2; ++stage) {
      wire::StageGroup& group = open.groups.emplace_back();
      group.stage = stage;
      group.members.emplace_back().node = plan::TestNode(2);
      group.shares = {1, 1};
    }
    return open;
  }

  void Send(wire::Message message) {
    ASSERT_TRUE(front_->Send(node_->self(), std::move(message)).ok());
    while (auto event = node_->Receive(0)) server_.Handle(*std::move(event));
  }
  // The state that the server has told last; the error's words if the route was refused.
  std::string State() {
    std::string state;
    while (auto event = front_->Receive(0)) {
      const auto* told = std::get_if<wire::RouteState>(&event->message);
      if (event->kind != net::Event::Kind::kMessage || told == nullptr) continue;
      const bool is_ready = told->kind == wire::RouteState::Kind::kReady;
      state = is_ready ? "ready" : told->why.message();
    }
    return state;
  }

  // Lets time pass, and the server act.
  void Pass(int64_t seconds) {
    clock_.AdvanceBy(seconds * kNsPerSecond);
    server_.Tick();
  }

  VirtualClock clock_{kNsPerSecond};
  net::MemoryHub hub_{clock_};
  const std::unique_ptr<net::MemoryNetwork> node_ = hub_.Join(plan::TestNode(1));
  const std::unique_ptr<net::MemoryNetwork> other_ = hub_.Join(plan::TestNode(2));
  const std::unique_ptr<net::MemoryNetwork> front_ = hub_.Join(plan::TestNode(99));
  CountingSource source_;
  StageServer server_{*node_, source_};
};

TEST_F(StageServerTest, ANodeLeadsOneGroupOfARoute) {
  Send(TwoPaths(1));
  EXPECT_NE(State().find("leads two groups"), std::string::npos);
  EXPECT_TRUE(server_.Snapshot().empty());
}

// Two messages open two stages of a route: the second one may not have another plan.
TEST_F(StageServerTest, StagesOfARouteHaveOnePlan) {
  wire::OpenRoute first = TwoPaths(1);
  first.groups.clear();
  Send(first);
  wire::OpenRoute second = TwoPaths(1);
  second.groups.erase(second.groups.begin());
  second.index = 1;
  Send(second);
  EXPECT_NE(State().find("opened by two plans"), std::string::npos);
  // A repeated message changes nothing, and the second stage completes the route.
  Send(first);
  EXPECT_EQ(State(), "");
  first.index = 1;
  Send(first);
  EXPECT_EQ(State(), "ready");
}

// A slice that is still loading after its route has ended cannot be dropped: the server's owner
// looks at it as often as before.
TEST_F(StageServerTest, ASliceThatLoadsWithoutARouteKeepsNoThreadBusy) {
  source_.hangs = true;
  Send(RouteTo(1));
  Send(wire::CloseRoute{.route = 1});
  EXPECT_TRUE(server_.Snapshot().empty());
  Pass(61);
  EXPECT_GT(server_.next_tick_ns(), clock_.NowNs());
}

// A slice is dropped a minute after its last route has ended, whatever other routes do meanwhile.
TEST_F(StageServerTest, TheEndOfOtherRoutesKeepsNoSlice) {
  Send(RouteTo(1, 1));
  Send(wire::CloseRoute{.route = 1});
  Pass(40);
  Send(RouteTo(2, 2));
  Send(wire::CloseRoute{.route = 2});
  EXPECT_EQ(source_.started, 2);
  Pass(21);
  Send(RouteTo(3, 2));
  EXPECT_EQ(source_.started, 2);
  Send(RouteTo(4, 1));
  EXPECT_EQ(source_.started, 3);
}

}  // namespace
}  // namespace aster::stage
