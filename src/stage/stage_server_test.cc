// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Routes of a stage server: which are opened, and how long their slices are kept.

#include "stage/stage_server.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kv/prefix_hash.h"
#include "net/memory_network.h"
#include "plan/route_model.h"
#include "stage/slice_source_for_test.h"

namespace aster::stage {
namespace {

constexpr uint64_t kQueuedBytes = uint64_t{1} << 20;

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
    for (uint32_t stage = 0; stage < 2; ++stage) AddGroup(open, stage);
    return open;
  }
  static void AddGroup(wire::OpenRoute& open, uint32_t stage) {
    wire::StageGroup& group = open.groups.emplace_back();
    group.stage = stage;
    group.members.emplace_back().node = plan::TestNode(2);
    group.shares = {1, 1};
  }

  void Send(wire::Message message) { SendFrom(*front_, std::move(message)); }
  void SendFrom(net::Network& from, wire::Message message) {
    ASSERT_TRUE(from.Send(node_->self(), std::move(message)).ok());
    while (auto event = node_->Receive(0)) server_.Handle(*std::move(event));
  }
  // The newest message of a kind that node b has got.
  template <typename T>
  std::optional<T> ToOther() {
    std::optional<T> newest;
    while (auto event = other_->Receive(0)) {
      if (const T* const found = std::get_if<T>(&event->message)) newest = *found;
    }
    return newest;
  }
  // Opens route 1 with a group that node a leads, and has a frame of it wait for node b.
  void WaitForOther() {
    wire::OpenRoute open = RouteTo(1);
    AddGroup(open, 0);
    Send(open);
    const auto to_member = ToOther<wire::OpenRoute>();
    ASSERT_TRUE(to_member);
    group_ = to_member->route;
    wire::RouteState ready{.route = group_, .kind = wire::RouteState::Kind::kReady};
    ready.kv_positions = 1000;
    SendFrom(*other_, ready);
    server_.Tick();
    EXPECT_EQ(State(), "ready");
    wire::Begin begin;
    begin.route = 1;
    begin.sequence = 1;
    begin.tokens = model::RandomTokens(20, 298);
    Send(begin);
    wire::Holds holds;
    holds.route = group_;
    holds.sequence = 1;
    SendFrom(*other_, holds);
    kv::TokenHistory history(
        plan::LayoutOf(TestModel::Get().shape(), {}, TestModel::kFingerprint).value().digest());
    history.Append(begin.tokens);
    wire::Work work;
    work.route = 1;
    wire::WorkSegment& segment = work.segments.emplace_back();
    segment.sequence = 1;
    segment.attempt = 1;
    segment.tokens = begin.tokens;
    segment.before = history.HashAt(0);
    segment.after = history.HashAt(20);
    Send(work);
    while (server_.has_work()) server_.Compute();
    ASSERT_TRUE(ToOther<wire::Work>());
    EXPECT_TRUE(server_.ExpectsGroupMessage());
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
  wire::RouteId group_ = 0;  // the number of the group's route
  CountingSource source_;
  StageServer server_{*node_, source_, {.max_queued_bytes = kQueuedBytes}};
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

// A frame of a group waits for columns. Messages about other routes, and the end of its own, do not
// wait behind it.
TEST_F(StageServerTest, AFrameThatWaitsKeepsOnlyItsOwnRouteWaiting) {
  WaitForOther();
  Send(RouteTo(2));
  EXPECT_EQ(State(), "ready");
  wire::Begin begin;
  begin.route = begin.sequence = 2;
  begin.tokens = {1, 2, 3};
  Send(begin);
  EXPECT_EQ(server_.Snapshot().at(1).sequences, 1u);
  begin.route = 1;
  Send(begin);
  EXPECT_EQ(server_.Snapshot().at(0).sequences, 1u);
  Send(wire::CloseRoute{.route = 1});
  EXPECT_TRUE(ToOther<wire::CloseRoute>());
  EXPECT_EQ(server_.Snapshot().size(), 1u);
  EXPECT_FALSE(server_.ExpectsGroupMessage());
}

TEST_F(StageServerTest, AMemberThatRefusesEndsAFrameThatWaits) {
  WaitForOther();
  SendFrom(*other_, wire::RouteState{.route = group_,
                                     .kind = wire::RouteState::Kind::kRefused,
                                     .why = Error(Code::kUnavailable, "node c is down"),
                                     .lost = plan::TestNode(3)});
  EXPECT_NE(State().find("node c is down"), std::string::npos);
  EXPECT_TRUE(server_.Snapshot().empty());
}

TEST_F(StageServerTest, MessagesThatWaitTakeLimitedMemory) {
  WaitForOther();
  wire::Begin begin;
  begin.route = 1;
  begin.tokens.resize(kQueuedBytes / sizeof(int32_t) / 3);
  for (begin.sequence = 2; begin.sequence < 4; ++begin.sequence) Send(begin);
  EXPECT_EQ(State(), "");
  Send(begin);
  EXPECT_NE(State().find("gets more messages than its group computes"), std::string::npos);
  EXPECT_TRUE(server_.Snapshot().empty());
}

}  // namespace
}  // namespace aster::stage
