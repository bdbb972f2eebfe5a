// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/group.h"

#include <gtest/gtest.h>

#include <array>

#include "net/memory_network.h"
#include "plan/model_for_test.h"

namespace aster::stage {
namespace {

using model::Exchange;

// Three nodes of a group; each test passes their messages on.
class GroupTest : public testing::Test {
 protected:
  static constexpr uint64_t kMostBytes = 64;

  GroupTest() {
    std::vector<wire::NodeId> ids;
    for (uint64_t i = 1; i <= 3; ++i) ids.push_back(plan::TestNode(i));
    for (uint32_t i = 0; i < 3; ++i) {
      networks_[i] = hub_.Join(ids[i]);
      for (const wire::NodeId& other : ids) networks_[i]->Introduce(other, {});
      groups_[i] = std::make_unique<Group>(*networks_[i], /*route=*/7, ids, i, kMostBytes);
    }
  }

  // Handles all messages of a node; returns the first error.
  Status Receive(uint32_t node) {
    Status status = Ok();
    while (auto event = networks_[node]->Receive(0)) {
      auto* const rows = std::get_if<wire::PartRows>(&event->message);
      if (event->kind != net::Event::Kind::kMessage || rows == nullptr) continue;
      const Status taken = groups_[node]->OnRows(event->from, std::move(*rows));
      if (status.ok()) status = taken;
    }
    return status;
  }

  SystemClock clock_;
  net::MemoryHub hub_{clock_};
  std::array<std::unique_ptr<net::MemoryNetwork>, 3> networks_;
  std::array<std::unique_ptr<Group>, 3> groups_;
};

TEST_F(GroupTest, RowsReachTheOthers) {
  const auto first = groups_[0]->Join(1), second = groups_[1]->Join(1);
  EXPECT_TRUE(second->Take(0, 0).value().bytes.empty());
  const std::vector<uint8_t> rows = {1, 2, 3, 4};
  ASSERT_TRUE(first->Send(0, Exchange::To::kAll, {.bytes = rows}).ok());
  for (const uint32_t node : {1u, 2u}) ASSERT_TRUE(Receive(node).ok());
  const Bytes taken = second->Take(0, 0).value().bytes;
  EXPECT_EQ(std::vector<uint8_t>(taken.begin(), taken.end()), rows);
  // Rows are taken once; those that come before a job begins wait for it.
  EXPECT_TRUE(second->Take(0, 0).value().bytes.empty());
  EXPECT_EQ(groups_[2]->Join(1)->Take(0, 0).value().bytes.size(), 4u);
}

TEST_F(GroupTest, RowsForTheLeaderAreSentToItAlone) {
  const auto first = groups_[0]->Join(1), second = groups_[1]->Join(1), third = groups_[2]->Join(1);
  const std::array<uint8_t, 4> rows{5};
  ASSERT_TRUE(third->Send(4, Exchange::To::kLeader, {.bytes = rows}).ok());
  for (const uint32_t node : {0u, 1u}) ASSERT_TRUE(Receive(node).ok());
  EXPECT_EQ(first->Take(4, 2).value().bytes.size(), 4u);
  EXPECT_TRUE(second->Take(4, 2).value().bytes.empty());
}

// Blocks arrive as blocks. If one node does not support them, no node sends any.
TEST_F(GroupTest, BlocksAreForNodesThatKnowThem) {
  const auto first = groups_[0]->Join(1), second = groups_[1]->Join(1);
  ASSERT_TRUE(first->TakesBlocks());
  const std::array<uint8_t, 4> rows{5};
  ASSERT_TRUE(first->Send(0, Exchange::To::kAll, {.bytes = rows, .are_blocks = true}).ok());
  ASSERT_TRUE(Receive(1).ok());
  EXPECT_TRUE(second->Take(0, 0).value().are_blocks);
  EXPECT_EQ(groups_[0]->sent().gathers, 1u);
  EXPECT_EQ(groups_[0]->sent().bytes, 2 * rows.size());
  hub_.LimitProtocol(plan::TestNode(3), wire::kBlocksProtocol - 1);
  EXPECT_FALSE(first->TakesBlocks());
  EXPECT_FALSE(second->TakesBlocks());
}

TEST_F(GroupTest, AFailureEndsTheJobEverywhere) {
  const auto first = groups_[0]->Join(1), second = groups_[1]->Join(1), third = groups_[2]->Join(1);
  // A failure of the leader is sent to all, that of another node to the leader.
  groups_[2]->Fail(1, ResourceExhausted("no room"));
  ASSERT_TRUE(Receive(0).ok());
  const auto failed = first->Take(0, 1);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), Code::kResourceExhausted);
  EXPECT_TRUE(second->Take(0, 0).ok());
  groups_[0]->Fail(1, failed.error());
  ASSERT_TRUE(Receive(1).ok());
  EXPECT_FALSE(second->Take(0, 0).ok());
  // Lack of memory does not break a group; any other error does.
  EXPECT_FALSE(groups_[0]->broken());
  groups_[0]->Fail(2, DataLoss("damaged"));
  EXPECT_TRUE(groups_[0]->broken());
}

TEST_F(GroupTest, RowsThatWaitAreBounded) {
  const auto second = groups_[1]->Join(1);
  const std::vector<uint8_t> rows(kMostBytes);
  ASSERT_TRUE(second->Send(0, Exchange::To::kLeader, {.bytes = rows}).ok());
  ASSERT_TRUE(Receive(0).ok());
  ASSERT_TRUE(second->Send(1, Exchange::To::kLeader, {.bytes = rows}).ok());
  EXPECT_EQ(Receive(0).error().code(), Code::kResourceExhausted);
  // A job that is over keeps no rows, and takes none.
  groups_[0]->Join(1).reset();
  ASSERT_TRUE(second->Send(2, Exchange::To::kLeader, {.bytes = rows}).ok());
  EXPECT_TRUE(Receive(0).ok());
  const auto next = groups_[1]->Join(2);
  ASSERT_TRUE(next->Send(0, Exchange::To::kLeader, {.bytes = rows}).ok());
  EXPECT_TRUE(Receive(0).ok());
  EXPECT_EQ(groups_[0]->Join(2)->Take(0, 1).value().bytes.size(), rows.size());
}

TEST_F(GroupTest, MessagesOfOtherNodesAreIgnored) {
  const auto first = groups_[0]->Join(1);
  wire::PartRows rows{.route = 7, .job = 1, .gather = 0, .part = 1};
  rows.rows.resize(4);
  EXPECT_TRUE(groups_[0]->OnRows(plan::TestNode(3), std::move(rows)).ok());
  EXPECT_TRUE(first->Take(0, 1).value().bytes.empty());
}

}  // namespace
}  // namespace aster::stage
