// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/group_rows.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "kv/world_for_test.h"
#include "plan/model_for_test.h"

namespace aster::stage {
namespace {

constexpr uint32_t kColumns = 4;
constexpr wire::RouteId kGroup = 77;

kv::Layout LayoutOf(uint32_t columns) {
  return kv::MakeLayout(8, 5, {{{.row_bytes = size_t{2} * columns}}});
}

// A leader, with the first column, and two others.
class GroupRowsTest : public testing::Test {
 protected:
  GroupRowsTest() {
    for (int32_t i = 0; i < 20; ++i) tokens_.push_back(i);
    kv::CheckedTable checked(layout_, pool_, layout_.all_layers());
    CHECK(checked.Compute(layout_.all_layers(), tokens_));
    whole_ = kv::ExportBytes(checked.table(), layout_.all_layers(), 0, 20);
  }

  wire::Payload Cut(const kv::Columns& columns) const {
    const auto cut = kv::CutKvChunk(kv::ParseKvChunk(whole_).value(), columns).value();
    return {cut.begin(), cut.end()};
  }
  StageMemory::OutgoingKv Own(wire::SequenceId sequence, uint64_t epoch = 1) const {
    StageMemory::OutgoingKv own{.to = plan::TestNode(9), .rows = {}};
    own.rows.route = 5;
    own.rows.sequence = sequence;
    own.rows.epoch = epoch;
    own.rows.ticket = 1234;
    own.rows.chunk = Cut({0, 1, kColumns});
    return own;
  }
  static wire::KvRows PartOf(const wire::SendKv& order, wire::Payload chunk) {
    return {.route = order.route,
            .sequence = order.sequence,
            .epoch = order.epoch,
            .ticket = order.ticket,
            .chunk = std::move(chunk)};
  }
  static wire::Holds Holding(wire::SequenceId sequence, uint64_t epoch, uint32_t length,
                             Error why = {Code::kUnknown, ""}) {
    wire::Holds holds;
    holds.route = kGroup;
    holds.sequence = sequence;
    holds.epoch = epoch;
    holds.length = length;
    holds.why = std::move(why);
    return holds;
  }
  std::vector<GroupRows::ForMember> Divide(uint64_t epoch, uint32_t end) {
    return rows_
        .Divide(plan::TestNode(9), kv::ParseKvChunk(whole_).value(),
                {.route = 5, .sequence = 3, .epoch = epoch, .ticket = 8, .end = end})
        .value();
  }

  kv::Pool pool_{uint64_t{1} << 22};
  const kv::Layout layout_ = LayoutOf(kColumns);
  std::vector<int32_t> tokens_;
  std::vector<uint8_t> whole_;
  const wire::NodeId one_ = plan::TestNode(1), two_ = plan::TestNode(2);
  GroupRows rows_{kGroup,
                  {0, 1, kColumns},
                  {{one_, kv::Columns{1, 3, kColumns}}, {two_, kv::Columns{3, 4, kColumns}}}};
};

TEST_F(GroupRowsTest, PartsAreJoinedInAnyOrder) {
  const wire::SendKv order = rows_.Gather(Own(3));
  EXPECT_EQ(order.route, kGroup);
  EXPECT_EQ(std::pair(order.begin, order.end), std::pair(0u, 20u));
  EXPECT_FALSE(rows_.OnPart(two_, PartOf(order, Cut({3, 4, kColumns}))).value());
  const auto joined = rows_.OnPart(one_, PartOf(order, Cut({1, 3, kColumns}))).value();
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->to, plan::TestNode(9));
  EXPECT_EQ(joined->rows.route, 5u);
  EXPECT_EQ(joined->rows.ticket, 1234u);
  EXPECT_TRUE(std::ranges::equal(kv::ParseKvChunk(joined->rows.chunk)->blocks,
                                 kv::ParseKvChunk(whole_)->blocks));
  // A second time there is nothing to join.
  EXPECT_FALSE(rows_.OnPart(one_, PartOf(order, Cut({1, 3, kColumns}))).value());
}

TEST_F(GroupRowsTest, WrongPartsAndForgottenSequencesGiveNothing) {
  const wire::SendKv wrong = rows_.Gather(Own(3));
  EXPECT_FALSE(rows_.OnPart(two_, PartOf(wrong, Cut({2, 4, kColumns}))).value());
  EXPECT_FALSE(rows_.OnPart(one_, PartOf(wrong, Cut({1, 3, kColumns}))).ok());
  wire::SendKv old = rows_.Gather(Own(3));
  EXPECT_FALSE(rows_.OnPart(two_, PartOf(old, Cut({3, 4, kColumns}))).value());
  old.epoch = 0;
  EXPECT_FALSE(rows_.OnPart(one_, PartOf(old, Cut({1, 3, kColumns}))).value());
  old.epoch = 1;
  rows_.Forget(3);
  EXPECT_FALSE(rows_.OnPart(one_, PartOf(old, Cut({1, 3, kColumns}))).value());
}

TEST_F(GroupRowsTest, ASequenceHasAtMostSoManyChunksInFlight) {
  std::vector<wire::SendKv> orders;
  while (rows_.MayGather(3)) orders.push_back(rows_.Gather(Own(3)));
  EXPECT_GT(orders.size(), 8u);
  EXPECT_TRUE(rows_.MayGather(4));
  EXPECT_FALSE(rows_.OnPart(one_, PartOf(orders[0], Cut({1, 3, kColumns}))).value());
  EXPECT_TRUE(rows_.OnPart(two_, PartOf(orders[0], Cut({3, 4, kColumns}))).value());
  EXPECT_EQ(rows_.Released(), std::set<wire::SequenceId>{3});
  EXPECT_TRUE(rows_.MayGather(3));
}

TEST_F(GroupRowsTest, RowsAreTakenWhenAllHaveTakenTheirPart) {
  const auto parts = Divide(1, 20);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].to, one_);
  EXPECT_EQ(parts[0].rows.route, kGroup);
  EXPECT_EQ(parts[0].rows.chunk, Cut({1, 3, kColumns}));
  EXPECT_EQ(parts[1].rows.chunk, Cut({3, 4, kColumns}));
  Divide(1, 20);
  EXPECT_TRUE(rows_.IsAwaited(one_, Holding(3, 1, 20)));
  EXPECT_FALSE(rows_.IsAwaited(one_, Holding(3, 2, 20)));
  EXPECT_FALSE(rows_.OnHolds(one_, Holding(3, 1, 20)));
  EXPECT_FALSE(rows_.OnHolds(one_, Holding(3, 1, 40)));
  EXPECT_FALSE(rows_.IsAwaited(one_, Holding(3, 1, 20)));
  const auto first = rows_.OnHolds(two_, Holding(3, 1, 19));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->sender, plan::TestNode(9));
  EXPECT_EQ(first->reply.end, 20u);
  EXPECT_EQ(first->length, 19u);
  // Rows that a member refuses are refused.
  const auto second = rows_.OnHolds(two_, Holding(3, 1, 19, ResourceExhausted("it is full")));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->reply.end, 0u);
  EXPECT_NE(second->why.message().find("it is full"), std::string::npos);
  EXPECT_FALSE(rows_.OnHolds(two_, Holding(3, 1, 19)));
}

TEST_F(GroupRowsTest, AnEarlierEpochIsForgotten) {
  Divide(1, 20);
  rows_.Forget(3);
  Divide(2, 20);
  EXPECT_FALSE(rows_.OnHolds(one_, Holding(3, 1, 20)));
  EXPECT_FALSE(rows_.OnHolds(two_, Holding(3, 1, 20)));
  EXPECT_FALSE(rows_.OnHolds(one_, Holding(3, 2, 20)));
  EXPECT_TRUE(rows_.OnHolds(two_, Holding(3, 2, 20)));
}

}  // namespace
}  // namespace aster::stage
