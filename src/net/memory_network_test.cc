// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/memory_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace aster::net {
namespace {

using ::testing::HasSubstr;
using wire::NodeId;

constexpr NodeId kFirstNode{{1, 1}};
constexpr NodeId kSecondNode{{2, 2}};
constexpr NodeId kCid{{3, 3}};

// No test here sleeps: messages are due at once, or the clock is advanced.
class MemoryNetworkTest : public ::testing::Test {
 protected:
  std::optional<Event> Next(Network& network) { return network.Receive(clock_.NowNs()); }
  void Up() {
    ann_->Introduce(kSecondNode, {});
    ASSERT_EQ(Next(*ann_)->kind, Event::Kind::kUp);
    ASSERT_EQ(Next(*bob_)->kind, Event::Kind::kUp);
  }
  static uint64_t RouteOf(const Event& event) {
    return std::get<wire::CloseRoute>(event.message).route;
  }

  VirtualClock clock_;
  MemoryHub hub_{clock_};
  std::unique_ptr<MemoryNetwork> ann_ = hub_.Join(kFirstNode);
  std::unique_ptr<MemoryNetwork> bob_ = hub_.Join(kSecondNode);
};

TEST_F(MemoryNetworkTest, MessagesArriveInOrder) {
  Up();
  for (uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(ann_->Send(kSecondNode, wire::CloseRoute{i}).ok());
  for (uint64_t i = 0; i < 100; ++i) {
    const std::optional<Event> event = Next(*bob_);
    ASSERT_TRUE(event && event->kind == Event::Kind::kMessage);
    EXPECT_EQ(event->from, kFirstNode);
    EXPECT_EQ(RouteOf(*event), i);
  }
  EXPECT_FALSE(Next(*bob_));
  // The other node may reply without an introduction.
  ASSERT_TRUE(bob_->Send(kFirstNode, wire::CloseRoute{7}).ok());
  EXPECT_EQ(RouteOf(*Next(*ann_)), 7U);
}

TEST_F(MemoryNetworkTest, OneCanTalkToOneself) {
  ASSERT_TRUE(ann_->Send(kFirstNode, wire::CloseRoute{5}).ok());
  const std::optional<Event> event = Next(*ann_);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->from, kFirstNode);
  EXPECT_EQ(RouteOf(*event), 5U);
}

TEST_F(MemoryNetworkTest, StrangersAreAnError) {
  const Status status = ann_->Send(kSecondNode, wire::CloseRoute{1});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message(), HasSubstr("introduce it first"));
}

TEST_F(MemoryNetworkTest, AnAbsentNodeIsDown) {
  ann_->Introduce(kCid, {"cid:7777"});
  const std::optional<Event> event = Next(*ann_);
  ASSERT_TRUE(event && event->kind == Event::Kind::kDown);
  EXPECT_EQ(event->from, kCid);
  EXPECT_THAT(event->why.error().message(), HasSubstr("does not take connections"));
  // It joined later: sending connects.
  const std::unique_ptr<MemoryNetwork> cid = hub_.Join(kCid);
  ASSERT_TRUE(ann_->Send(kCid, wire::CloseRoute{1}).ok());
  EXPECT_EQ(Next(*ann_)->kind, Event::Kind::kUp);
  EXPECT_EQ(Next(*cid)->kind, Event::Kind::kUp);
  EXPECT_EQ(RouteOf(*Next(*cid)), 1U);
}

TEST_F(MemoryNetworkTest, CutsAreReportedOnceAndDropMessagesInFlight) {
  Up();
  hub_.Delay(kFirstNode, kSecondNode, kNsPerMs);
  ASSERT_TRUE(ann_->Send(kSecondNode, wire::CloseRoute{1}).ok());
  hub_.Cut(kFirstNode, kSecondNode);
  hub_.Cut(kFirstNode, kSecondNode);
  EXPECT_EQ(Next(*ann_)->kind, Event::Kind::kDown);
  EXPECT_FALSE(Next(*ann_));
  clock_.AdvanceBy(kNsPerMs);
  EXPECT_EQ(Next(*bob_)->kind, Event::Kind::kDown);
  EXPECT_FALSE(Next(*bob_));
  ASSERT_TRUE(ann_->Send(kSecondNode, wire::CloseRoute{2}).ok());
  EXPECT_EQ(Next(*ann_)->kind, Event::Kind::kUp);
  clock_.AdvanceBy(kNsPerMs);
  EXPECT_EQ(Next(*bob_)->kind, Event::Kind::kUp);
  EXPECT_EQ(RouteOf(*Next(*bob_)), 2U);
}

TEST_F(MemoryNetworkTest, DelaysKeepTheOrder) {
  Up();
  hub_.Delay(kFirstNode, kSecondNode, 10 * kNsPerMs);
  ASSERT_TRUE(ann_->Send(kSecondNode, wire::CloseRoute{1}).ok());
  hub_.Delay(kFirstNode, kSecondNode, 0);
  ASSERT_TRUE(ann_->Send(kSecondNode, wire::CloseRoute{2}).ok());
  EXPECT_FALSE(Next(*bob_));
  clock_.AdvanceBy(10 * kNsPerMs);
  EXPECT_EQ(RouteOf(*Next(*bob_)), 1U);
  EXPECT_EQ(RouteOf(*Next(*bob_)), 2U);
}

TEST_F(MemoryNetworkTest, ASilentNodeIsDeadAfterTheStatedTime) {
  Up();
  hub_.Silence(kSecondNode);
  ASSERT_TRUE(ann_->Send(kSecondNode, wire::CloseRoute{1}).ok());
  clock_.AdvanceBy(5 * kNsPerSecond - 1);
  EXPECT_FALSE(Next(*ann_));
  clock_.AdvanceBy(1);
  const std::optional<Event> event = Next(*ann_);
  ASSERT_TRUE(event && event->kind == Event::Kind::kDown);
  EXPECT_THAT(event->why.error().message(), HasSubstr("nothing was heard for 5000 ms"));
  // It gets kDown too, but not the message.
  EXPECT_EQ(Next(*bob_)->kind, Event::Kind::kDown);
  EXPECT_FALSE(Next(*bob_));
  ann_->Introduce(kSecondNode, {});
  EXPECT_FALSE(Next(*ann_));
  clock_.AdvanceBy(5 * kNsPerSecond);
  EXPECT_EQ(Next(*ann_)->kind, Event::Kind::kDown);
  hub_.Silence(kSecondNode, false);
  Up();
}

TEST_F(MemoryNetworkTest, RefusedConnectionsAreDown) {
  hub_.Refuse(kSecondNode);
  ann_->Introduce(kSecondNode, {});
  EXPECT_EQ(Next(*ann_)->kind, Event::Kind::kDown);
  EXPECT_FALSE(Next(*bob_));
  hub_.Refuse(kSecondNode, false);
  Up();
}

TEST_F(MemoryNetworkTest, AFullQueueTakesTheNodeDown) {
  Up();
  hub_.LimitQueues(100'000);
  Status status = Ok();
  int count = 0;
  while (status.ok() && count < 1000) {
    wire::Work work;
    work.rows.resize(10'000);
    status = ann_->Send(kSecondNode, std::move(work));
    ++count;
  }
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(count, 10);
  EXPECT_THAT(status.error().message(), HasSubstr("reads nothing"));
  EXPECT_EQ(Next(*ann_)->kind, Event::Kind::kDown);
}

TEST_F(MemoryNetworkTest, LeavingIsDown) {
  Up();
  bob_.reset();
  EXPECT_EQ(Next(*ann_)->kind, Event::Kind::kDown);
}

TEST(MemoryNetwork, AWaitingReceiverIsWoken) {
  SystemClock clock;
  MemoryHub hub(clock);
  const std::unique_ptr<MemoryNetwork> ann = hub.Join(kFirstNode);
  const std::unique_ptr<MemoryNetwork> bob = hub.Join(kSecondNode);
  ann->Introduce(kSecondNode, {});
  std::thread sender([&] { EXPECT_TRUE(ann->Send(kSecondNode, wire::CloseRoute{3}).ok()); });
  const int64_t deadline_ns = clock.NowNs() + 60 * kNsPerSecond;
  EXPECT_EQ(bob->Receive(deadline_ns)->kind, Event::Kind::kUp);
  const std::optional<Event> event = bob->Receive(deadline_ns);
  ASSERT_TRUE(event);
  EXPECT_EQ(std::get<wire::CloseRoute>(event->message).route, 3U);
  sender.join();
}

}  // namespace
}  // namespace aster::net
