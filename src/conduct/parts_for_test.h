// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// For tests of a conductor's parts without nodes: requests without a conductor, and a network that
// records messages. Only for tests.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "conduct/cluster_for_test.h"
#include "conduct/live_request.h"
#include "conduct/route_client.h"
#include "kernels/isa_choice.h"
#include "model/forward/runner_for_test.h"
#include "net/network.h"

namespace aster::conduct {

inline constexpr int32_t kTestVocab = 298;
inline constexpr int32_t kTestEmbedding = 128;

// Requests on sequences of their own, the oldest first.
class TestRequests {
 public:
  std::unique_ptr<LiveRequest> Make(size_t prompt, engine::Request request = {}) {
    engine::Sequence& sequence = sequences_.emplace_back(std::make_unique<RouteMemory>(memories_));
    sequence.SetHistory(model::RandomTokens(prompt, kTestVocab, sequences_.size()));
    request.sequence = &sequence;
    if (request.context_limit == 0) request.context_limit = 10000;
    auto* const memory = static_cast<RouteMemory*>(&sequence.memory());
    return std::make_unique<LiveRequest>(sequences_.size(), std::move(request), nullptr, kTestVocab,
                                         kernels::FastestIsa(), memory, 0);
  }

 private:
  std::shared_ptr<RouteMemories> memories_ =
      std::make_shared<RouteMemories>(RouteMemories{.route = 1, .all = {}, .forgotten = {}});
  std::deque<engine::Sequence> sequences_;
};

// Keeps all messages, and delivers none.
class RecordingNetwork final : public net::Network {
 public:
  wire::NodeId self() const override { return plan::TestNode(99); }
  void Introduce(const wire::NodeId& node, const std::vector<std::string>&) override {
    introduced.push_back(node);
  }
  Status Send(const wire::NodeId& to, wire::Message message) override {
    if (unreachable.contains(to)) return Error(Code::kUnavailable, "it is down");
    sent_.emplace_back(to, std::move(message));
    return Ok();
  }
  std::optional<net::Event> Receive(int64_t) override { return std::nullopt; }
  const Clock& clock() const override { return virtual_clock; }
  uint16_t ProtocolOf(const wire::NodeId& /*node*/) const override { return protocol; }

  // Messages of a kind that were sent since they were last taken.
  template <typename T>
  std::vector<std::pair<wire::NodeId, T>> Take() {
    std::vector<std::pair<wire::NodeId, T>> taken;
    for (const auto& [to, message] : sent_) {
      if (const T* found = std::get_if<T>(&message)) taken.emplace_back(to, *found);
    }
    std::erase_if(sent_, [](const auto& sent) { return std::holds_alternative<T>(sent.second); });
    return taken;
  }

  VirtualClock virtual_clock{kNsPerSecond};
  uint16_t protocol = wire::kNewestProtocol;
  std::set<wire::NodeId> unreachable;
  std::vector<wire::NodeId> introduced;

 private:
  std::vector<std::pair<wire::NodeId, wire::Message>> sent_;
};

// A route that its conductor considers ready.
inline std::unique_ptr<RouteClient> ReadyRoute(net::Network& network, const std::string& split,
                                               const RouteOptions& options = {}) {
  auto route = std::make_unique<RouteClient>(network, plan::TestModel::Get().route_model(),
                                             TestPlan(split, 4), options, /*id=*/7);
  for (const wire::NodeId& node : route->nodes()) {
    wire::RouteState state{.route = 7, .kind = wire::RouteState::Kind::kReady};
    state.kv_positions = 100000;
    route->Handle({net::Event::Kind::kMessage, node, state, Ok()});
  }
  EXPECT_TRUE(route->is_ready());
  return route;
}

// All stages of the route hold `length` positions of a request that was begun on it.
inline void BeginForTest(LiveRequest& live, const RouteClient& route, uint32_t held = 0) {
  live.phase = RequestPhase::kBeginning;
  ++live.epoch;
  live.history.emplace(route.layout().digest());
  live.history->Append(live.request.sequence().tokens());
  for (uint32_t stage = 0; stage < route.stages().size(); ++stage) live.holds[stage] = held;
}

// The request's prompt is computed, and its first token known.
inline void TakeFirstToken(LiveRequest& live, int32_t token) {
  live.memory->SetLength(live.length());
  live.request.Begin(0);
  EXPECT_FALSE(live.request.TakeChoice(engine::Choice{.id = token}, 1));
  if (live.history) live.history->Append(std::span(live.request.sequence().tokens()).last(1));
}

}  // namespace aster::conduct
