// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/sequence_transfer.h"

#include <gmock/gmock.h>

#include "conduct/parts_for_test.h"

namespace aster::conduct {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class SequenceTransferTest : public testing::Test {
 protected:
  bool Holds(uint32_t stage, uint32_t length, uint64_t epoch = 1) {
    kv::TokenHistory history(route_->layout().digest());
    history.Append(tokens_);
    return transfer_.OnHolds(route_->stages()[stage].node.id, {.route = route_->id(),
                                                               .sequence = 5,
                                                               .length = length,
                                                               .hash = history.HashAt(length),
                                                               .stage = stage,
                                                               .epoch = epoch});
  }
  wire::KvRows Rows(uint64_t ticket) const {
    return {.route = route_->id(), .sequence = 5, .epoch = 1, .ticket = ticket, .chunk = {1, 2, 3}};
  }

  RecordingNetwork network_;
  const std::vector<int32_t> tokens_ = model::RandomTokens(300, kTestVocab);
  std::unique_ptr<RouteClient> route_ = ReadyRoute(network_, "a=0:1,b=2:out decode c");
  Numbers numbers_;
  SequenceTransfer transfer_{network_, *route_, numbers_, /*sequence=*/5, tokens_};
};

TEST_F(SequenceTransferTest, BeginsWhenAllStagesHaveReportedTheirRows) {
  EXPECT_THAT(network_.Take<wire::Begin>(), SizeIs(3));
  EXPECT_TRUE(transfer_.IsFor(5, tokens_));
  EXPECT_FALSE(transfer_.IsFor(6, tokens_));
  EXPECT_FALSE(transfer_.IsFor(5, std::span(tokens_).first(299)));
  EXPECT_TRUE(Holds(0, 300));
  EXPECT_TRUE(Holds(1, 300));
  EXPECT_FALSE(Holds(2, 300, /*epoch=*/9));
  EXPECT_FALSE(transfer_.has_begun());
  EXPECT_TRUE(Holds(2, 256));
  EXPECT_TRUE(transfer_.has_begun());
  EXPECT_EQ(transfer_.held(), 256u);
}

TEST_F(SequenceTransferTest, ThePathThatHoldsTheMostSendsItsRows) {
  Holds(0, 300);
  Holds(1, 300);
  Holds(2, 128);
  ASSERT_TRUE(transfer_.StartExport(0, 300, [](Bytes) { return Ok(); }).ok());
  const auto orders = network_.Take<wire::SendKv>();
  ASSERT_THAT(orders, SizeIs(2));
  EXPECT_EQ(orders[1].first, plan::TestNode(2));
  EXPECT_EQ(orders[1].second.to, network_.self());
  EXPECT_FALSE(transfer_.is_exported());
  const Status missing = transfer_.StartExport(0, 301, [](Bytes) { return Ok(); });
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message(), HasSubstr("node a holds positions 0 to 300"));
}

TEST_F(SequenceTransferTest, RowsOfAnotherExportAreNotWanted) {
  EXPECT_FALSE(transfer_.OnKvRows(plan::TestNode(1), Rows(0)));
  Holds(0, 300);
  Holds(1, 300);
  Holds(2, 300);
  ASSERT_TRUE(transfer_.StartExport(0, 300, [](Bytes) { return Ok(); }).ok());
  EXPECT_FALSE(transfer_.OnKvRows(plan::TestNode(1), Rows(numbers_.ticket + 1)));
  // Damage ends the transfer, and later rows are ignored.
  EXPECT_TRUE(transfer_.OnKvRows(plan::TestNode(1), Rows(numbers_.ticket)));
  EXPECT_FALSE(transfer_.status().ok());
  EXPECT_FALSE(transfer_.OnKvRows(plan::TestNode(1), Rows(numbers_.ticket)));
  EXPECT_FALSE(transfer_.IsFor(5, tokens_));
}

}  // namespace
}  // namespace aster::conduct
