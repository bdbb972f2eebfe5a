// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "net/frame_reader.h"
#include "net/memory_stream_for_test.h"

namespace aster::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

wire::Frame Numbered(uint64_t number, size_t payload_bytes = 0) {
  wire::Work work;
  work.route = number;
  work.rows.resize(payload_bytes);
  return wire::Encode(std::move(work));
}

class OutboxTest : public ::testing::Test {
 protected:
  // The written frames: the numbers of messages, and 1000 + the stamp of each Ping.
  std::vector<uint64_t> Sent() {
    MemoryStream sent(stream_.written, [](Bytes) { return SIZE_MAX; });
    FrameReader reader;
    std::vector<uint64_t> numbers;
    for (;;) {
      auto arrived = reader.Next(sent, {});
      if (!arrived.ok() || !*arrived) return numbers;
      const wire::Message message =
          wire::Decode((*arrived)->header, (*arrived)->body, std::move((*arrived)->payload))
              .value();
      if (const auto* ping = std::get_if<wire::Ping>(&message)) {
        numbers.push_back(1000 + ping->stamp);
      } else {
        numbers.push_back(std::get<wire::Work>(message).route);
      }
    }
  }

  VirtualClock clock_;
  MemoryStream stream_{{}, [](Bytes) { return size_t{0}; }};
  Outbox outbox_{clock_, 10'000};
};

TEST_F(OutboxTest, MessagesWaitForTheHandshakeAndGoInOrder) {
  ASSERT_TRUE(outbox_.Push(Numbered(1)).ok());
  outbox_.Attach(&stream_);
  ASSERT_TRUE(outbox_.PushControl(wire::Ping{7}).ok());
  ASSERT_TRUE(outbox_.Push(Numbered(2)).ok());
  ASSERT_TRUE(outbox_.Flush().ok());
  EXPECT_THAT(Sent(), ElementsAre(1007));
  ASSERT_TRUE(outbox_.Open(1 << 20, 1 << 20).ok());
  ASSERT_TRUE(outbox_.Push(Numbered(3)).ok());
  ASSERT_TRUE(outbox_.PushControl(wire::Ping{8}).ok());
  ASSERT_TRUE(outbox_.Flush().ok());
  EXPECT_THAT(Sent(), ElementsAre(1007, 1008, 1, 2, 3));
}

TEST_F(OutboxTest, NothingIsLostWhereTheStreamIsFull) {
  outbox_.Attach(&stream_);
  ASSERT_TRUE(outbox_.Open(1 << 20, 1 << 20).ok());
  for (uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(outbox_.Push(Numbered(i, 300)).ok());
  for (int i = 0; i < 1000; ++i) {
    stream_.room = 7;
    ASSERT_TRUE(outbox_.Flush().ok());
    if (i == 0) {
      EXPECT_TRUE(outbox_.IsBlocked());
    }
    // The message must not go into the middle of a frame.
    if (i == 10) {
      ASSERT_TRUE(outbox_.PushControl(wire::Ping{1}).ok());
    }
  }
  EXPECT_FALSE(outbox_.IsBlocked());
  EXPECT_THAT(Sent(), ElementsAre(0, 1001, 1, 2, 3, 4));
}

TEST_F(OutboxTest, CreditHoldsMessagesBackAndReleasesThem) {
  outbox_.Attach(&stream_);
  ASSERT_TRUE(outbox_.Open(8000, 1 << 20).ok());
  for (uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(outbox_.Push(Numbered(i, 2000)).ok());
  ASSERT_TRUE(outbox_.Flush().ok());
  const uint64_t cost = wire::CostOf(Numbered(0, 2000).size_bytes());
  EXPECT_THAT(Sent(), ElementsAre(0, 1));
  ASSERT_TRUE(outbox_.AddCredit(cost).ok());
  ASSERT_TRUE(outbox_.Flush().ok());
  EXPECT_THAT(Sent(), ElementsAre(0, 1, 2));
  ASSERT_TRUE(outbox_.AddCredit(2 * cost).ok());
  EXPECT_THAT(outbox_.AddCredit(1).error().message(), HasSubstr("where 0 were in flight"));
}

TEST_F(OutboxTest, FullIsAnErrorAndSoIsTooLarge) {
  ASSERT_TRUE(outbox_.Push(Numbered(1, 50'000)).ok())
      << "an empty queue takes a message of any size";
  EXPECT_THAT(outbox_.Push(Numbered(2)).error().message(), HasSubstr("reads nothing"));
  EXPECT_THAT(outbox_.Open(1 << 20, 40'000).error().message(), HasSubstr("takes 40000"));
  outbox_.Drop();
  EXPECT_THAT(outbox_.Push(Numbered(3, 50'000)).error().message(), HasSubstr("takes 40000"));
  EXPECT_TRUE(outbox_.Push(Numbered(4)).ok());
}

TEST_F(OutboxTest, MessagesMoveBehindWhatWaitsElsewhere) {
  Outbox other(clock_, 10'000);
  ASSERT_TRUE(outbox_.Push(Numbered(2)).ok());
  ASSERT_TRUE(other.Push(Numbered(1)).ok());
  ASSERT_TRUE(outbox_.MoveMessagesTo(other).ok());
  EXPECT_TRUE(outbox_.IsEmpty());
  other.Attach(&stream_);
  ASSERT_TRUE(other.Open(1 << 20, 1 << 20).ok());
  ASSERT_TRUE(other.Flush().ok());
  EXPECT_THAT(Sent(), ElementsAre(1, 2));
}

TEST_F(OutboxTest, MessagesOfNewerProtocolsAreRefused) {
  const auto seek = [] { return wire::Encode(wire::FindKv{.digest = {}, .tokens = {1}}); };
  Outbox other(clock_, 10'000), third(clock_, 10'000);
  ASSERT_TRUE(outbox_.Push(seek()).ok()) << "the peer's version is unknown";
  EXPECT_THAT(outbox_.Open(1 << 20, 1 << 20, 3).error().message(),
              HasSubstr("needs protocol 4, and the other side speaks 3"));
  outbox_.Drop();
  const Status refused = outbox_.Push(seek());
  EXPECT_THAT(refused.error().message(), HasSubstr("a FindKv needs protocol 4"));
  EXPECT_NE(refused.error().code(), Code::kResourceExhausted) << "that code means a full queue";
  EXPECT_TRUE(outbox_.Push(Numbered(4)).ok());
  EXPECT_EQ(outbox_.protocol(), 3);
  ASSERT_TRUE(other.Push(seek()).ok());
  EXPECT_FALSE(other.MoveMessagesTo(outbox_).ok());
  ASSERT_TRUE(third.Open(1 << 20, 1 << 20, 4).ok());
  EXPECT_TRUE(third.Push(seek()).ok());
}

TEST(MayBeInFlight, FitsOrIsNearlyAlone) {
  EXPECT_TRUE(MayBeInFlight(0, 1000, 100));
  EXPECT_TRUE(MayBeInFlight(25, 1000, 100));
  EXPECT_FALSE(MayBeInFlight(26, 1000, 100));
  EXPECT_TRUE(MayBeInFlight(26, 74, 100));
  EXPECT_FALSE(MayBeInFlight(26, 75, 100));
  EXPECT_FALSE(MayBeInFlight(UINT64_MAX, 1, 100));
}

}  // namespace
}  // namespace aster::net
