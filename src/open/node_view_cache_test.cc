// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/node_view_cache.h"

#include <gtest/gtest.h>

namespace aster::open {
namespace {

using cluster::MemberState;

const wire::NodeId kNode{{.low = 7, .high = 1}};

node::NodeView Silent(MemberState state) {
  node::NodeView view;
  view.member.node = kNode;
  view.member.state = state;
  view.why = "no answer in time";
  return view;
}

node::NodeView Answering(uint64_t uptime_ms) {
  node::NodeView view = Silent(MemberState::kAlive);
  view.description.emplace();
  view.status.emplace().uptime_ms = uptime_ms;
  view.why.clear();
  return view;
}

// The uptime in the node's last answer.
std::optional<uint64_t> Completed(NodeViewCache& last, const node::NodeView& view) {
  std::vector<node::NodeView> views = {view};
  last.Complete(views);
  if (!views.front().status) return std::nullopt;
  EXPECT_EQ(views.front().why, "");
  return views.front().status->uptime_ms;
}

TEST(NodeViewCache, TheLastViewOfASilentUsedNodeCounts) {
  NodeViewCache last;
  last.SetUsed({kNode});
  EXPECT_EQ(Completed(last, Answering(1)), 1u);
  EXPECT_EQ(Completed(last, Answering(2)), 2u);
  EXPECT_EQ(Completed(last, Silent(MemberState::kAlive)), 2u);
  EXPECT_EQ(Completed(last, Silent(MemberState::kSuspect)), 2u);
  EXPECT_EQ(Completed(last, Answering(3)), 3u);
}

TEST(NodeViewCache, ADeadNodeHasNoView) {
  NodeViewCache last;
  last.SetUsed({kNode});
  Completed(last, Answering(1));
  EXPECT_EQ(Completed(last, Silent(MemberState::kDead)), std::nullopt);
  EXPECT_EQ(Completed(last, Silent(MemberState::kAlive)), std::nullopt);
}

TEST(NodeViewCache, OneThatIsNotUsedHasToAnswer) {
  NodeViewCache last;
  EXPECT_EQ(Completed(last, Answering(1)), 1u);
  last.SetUsed({kNode});
  EXPECT_EQ(Completed(last, Silent(MemberState::kAlive)), std::nullopt);
  EXPECT_EQ(Completed(last, Answering(2)), 2u);
  last.SetUsed({});
  EXPECT_EQ(Completed(last, Silent(MemberState::kAlive)), std::nullopt);
}

}  // namespace
}  // namespace aster::open
