// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/held_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "model/forward/runner_for_test.h"
#include "plan/model_for_test.h"
#include "plan/route_model.h"

namespace aster::open {
namespace {

// Nodes that answer at once with what `held` says.
class AnsweringNetwork final : public net::Network {
 public:
  wire::NodeId self() const override { return plan::TestNode(99); }
  void Introduce(const wire::NodeId& /*node*/, const std::vector<std::string>&) override {}
  Status Send(const wire::NodeId& to, wire::Message message) override {
    if (unreachable.contains(to)) return Error(Code::kUnavailable, "it is down");
    const auto& find = std::get<wire::FindKv>(message);
    if (find.tokens.empty()) {
      ended.insert(to);
      return Ok();
    }
    asked_tokens = find.tokens.size();
    digest = find.digest;
    if (falls.contains(to)) {
      events.push_back({net::Event::Kind::kDown, to, {}, Error(Code::kUnavailable, "it fell")});
    } else if (const auto found = held.find(to); found != held.end()) {
      wire::FoundKv late{.query = find.query - 1, .held = {{0, 4, 64}}};
      events.push_back({net::Event::Kind::kMessage, to, late, Ok()});
      events.push_back({net::Event::Kind::kMessage, to,
                        wire::FoundKv{.query = find.query, .held = found->second}, Ok()});
    }
    return Ok();
  }
  std::optional<net::Event> Receive(int64_t deadline_ns) override {
    if (events.empty()) {
      virtual_clock.AdvanceTo(deadline_ns);
      return std::nullopt;
    }
    net::Event event = std::move(events.front());
    events.pop_front();
    return event;
  }
  const Clock& clock() const override { return virtual_clock; }

  VirtualClock virtual_clock{kNsPerSecond};
  std::map<wire::NodeId, std::vector<wire::HeldKv>> held;  // of the nodes that answer
  std::set<wire::NodeId> unreachable, falls, ended;
  std::deque<net::Event> events;
  size_t asked_tokens = 0;
  Hash128 digest;
};

TEST(HeldRows, AreAskedForAtAllNodes) {
  AnsweringNetwork network;
  network.held[plan::TestNode(1)] = {{0, 2, 640}, {2, 9, 128}};
  network.held[plan::TestNode(2)] = {};
  network.falls = {plan::TestNode(3)};
  network.unreachable = {plan::TestNode(4)};
  const auto nodes = plan::TestNodes(5);  // the last one is silent
  const auto model = plan::TestModel::Get().route_model();
  const kv::Layout layout =
      plan::LayoutOf(model.shape, /*memory=*/{}, /*memory_name=*/model.fingerprint).value();
  const std::vector<int32_t> text = model::RandomTokens(700, 298);
  const auto rows = FindHeldRows(network, nodes, layout, text);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].stage.node.name, "a");
  EXPECT_EQ(rows[0].stage.slice.layer_end, 2u);
  EXPECT_EQ(rows[0].tokens, 640u);
  // No node has more layers than the model.
  EXPECT_EQ(rows[1].stage.slice.layer_begin, 2u);
  EXPECT_EQ(rows[1].stage.slice.layer_end, plan::kTestLayers);
  EXPECT_EQ(network.asked_tokens, 640u);  // whole pages
  EXPECT_EQ(network.digest, layout.digest());
  EXPECT_EQ(network.virtual_clock.NowNs(), kNsPerSecond + 500 * kNsPerMs);
  EXPECT_THAT(network.ended, testing::ElementsAre(plan::TestNode(1), plan::TestNode(2),
                                                  plan::TestNode(3), plan::TestNode(5)));
  // No query for less than a page.
  EXPECT_TRUE(FindHeldRows(network, nodes, layout, std::span(text).first(64)).empty());
}

}  // namespace
}  // namespace aster::open
