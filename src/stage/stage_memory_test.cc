// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows from other nodes may be late, of another text, damaged, or for a node that was restarted:
// they are used only if they continue the held rows.

#include "stage/stage_memory.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "kv/transfer.h"
#include "plan/model_for_test.h"
#include "plan/route_model.h"

namespace aster::stage {
namespace {

constexpr wire::RouteId kMemoryRoute = 5;
constexpr wire::SequenceId kSequence = 1;
constexpr kv::LayerRange kAll = {0, plan::kTestLayers};

// A node with a KV cache.
struct NodeWithKv {
  explicit NodeWithKv(uint64_t kv_bytes = uint64_t{1} << 26,
                      wire::RowEncoding kv_encoding = wire::RowEncoding::kF32,
                      const model::MemoryOptions& rows = {}) {
    engine::LocalModelOptions options;
    options.memory_bytes = kv_bytes;
    options.memory = rows;
    options.name = plan::MemoryName(plan::TestModel::kFingerprint, wire::RowEncoding::kF32,
                                    kv_encoding, /*stages=*/{});
    model = plan::TestModel::Get().Make({0, plan::kTestLayers, true, true}, options);
    memory.emplace(kMemoryRoute, *model, /*proposers=*/nullptr, kv_encoding);
  }
  void Begin(std::span<const int32_t> tokens, uint64_t epoch,
             wire::SequenceId sequence = kSequence) {
    wire::Begin begin;
    begin.route = kMemoryRoute;
    begin.sequence = sequence;
    begin.tokens.assign(tokens.begin(), tokens.end());
    begin.epoch = epoch;
    const Status begun = memory->Begin(begin);
    ASSERT_TRUE(begun.ok()) << begun.error().message();
  }
  void Compute(std::span<const int32_t> tokens, wire::SequenceId sequence = kSequence) {
    const model::Segment segment{.table = &memory->Find(sequence)->table,
                                 .tokens = tokens,
                                 .hidden = nullptr,
                                 .wanted = model::Wanted::kNone};
    ASSERT_TRUE(model->Run({&segment, 1}).ok());
  }
  Result<std::optional<wire::KvTaken>> Import(const wire::KvRows& rows) {
    return memory->ImportKv(rows, TRY(kv::ParseKvChunk(rows.chunk)));
  }
  uint32_t length() { return memory->Find(kSequence)->table.length(); }

  std::unique_ptr<engine::LocalModel> model;
  std::optional<StageMemory> memory;
};

wire::SendKv Wanted(uint32_t begin, uint32_t end, uint64_t epoch, uint32_t step = 1) {
  wire::SendKv order;
  order.route = kMemoryRoute;
  order.sequence = kSequence;
  order.epoch = epoch;
  order.layer_begin = kAll.begin;
  order.layer_end = kAll.end;
  order.begin = begin;
  order.end = end;
  order.step = step;
  order.to = plan::TestNode(2);
  return order;
}

wire::KvTaken Taken(uint32_t end, uint64_t epoch) {
  return {.route = kMemoryRoute,
          .sequence = kSequence,
          .epoch = epoch,
          .ticket = 0,
          .layer_begin = kAll.begin,
          .layer_end = kAll.end,
          .end = end};
}

std::vector<wire::KvRows> AllRows(StageMemory& memory, bool is_over = true) {
  std::vector<wire::KvRows> all;
  while (true) {
    auto next = memory.NextKv(kSequence, is_over);
    EXPECT_TRUE(next.ok());
    if (!next.ok() || !*next) return all;
    EXPECT_EQ((*next)->to, plan::TestNode(2));
    all.push_back((*next)->rows);
  }
}

class StageMemoryTest : public testing::Test {
 protected:
  const std::vector<int32_t> tokens_ = model::RandomTokens(500, 298);
  NodeWithKv sender_, receiver_;

  std::span<const int32_t> First(size_t count) const { return std::span(tokens_).first(count); }
};

TEST_F(StageMemoryTest, RowsAreSentPageByPageAsTheyAreComputed) {
  sender_.Begin(tokens_, 1);
  receiver_.Begin(tokens_, 1);
  ASSERT_TRUE(sender_.memory->SendKv(Wanted(0, 450, 1)).ok());
  EXPECT_TRUE(AllRows(*sender_.memory).empty());
  sender_.Compute(First(300));
  const std::vector<wire::KvRows> first = AllRows(*sender_.memory);
  EXPECT_EQ(first.size(), 3u);  // two pages, and a part of the third
  for (const wire::KvRows& rows : first) {
    const auto taken = receiver_.Import(rows).value();
    ASSERT_TRUE(taken);
    sender_.memory->OnKvTaken(plan::TestNode(2), *taken);
  }
  EXPECT_EQ(receiver_.length(), 300u);
  sender_.Compute(std::span(tokens_).subspan(300, 200));
  for (const wire::KvRows& rows : AllRows(*sender_.memory)) {
    ASSERT_TRUE(receiver_.Import(rows).value());
  }
  // No row more than ordered.
  EXPECT_EQ(receiver_.length(), 450u);
  EXPECT_EQ(receiver_.memory->HoldsOf(kSequence, 0, kAll).hash,
            sender_.memory->Find(kSequence)->table.history().HashAt(450));
}

// An answer's own messages wait for at most one KV chunk, even on a slow link.
TEST_F(StageMemoryTest, RowsThatReturnDuringAnAnswerWaitUntilThoseBeforeThemWereTaken) {
  sender_.Begin(tokens_, 1);
  receiver_.Begin(tokens_, 1);
  sender_.Compute(First(100));
  receiver_.Compute(First(100));
  ASSERT_TRUE(sender_.memory->SendKv(Wanted(100, kv::kMaxPositions, 1, /*step=*/10)).ok());
  sender_.Compute(std::span(tokens_).subspan(100, 10));
  const std::vector<wire::KvRows> first = AllRows(*sender_.memory, /*is_over=*/false);
  ASSERT_EQ(first.size(), 1u);
  for (size_t at = 110; at < 170; at += 10) {
    sender_.Compute(std::span(tokens_).subspan(at, 10));
    EXPECT_TRUE(AllRows(*sender_.memory, /*is_over=*/false).empty()) << at;
  }
  sender_.memory->OnKvTaken(plan::TestNode(2), *receiver_.Import(first[0]).value());
  const std::vector<wire::KvRows> second = AllRows(*sender_.memory, /*is_over=*/false);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_TRUE(receiver_.Import(second[0]).value());
  EXPECT_EQ(receiver_.length(), 120u);
  // The same after the answer's end; but then incomplete steps are sent, too.
  EXPECT_TRUE(AllRows(*sender_.memory, /*is_over=*/true).empty());
  sender_.memory->OnKvTaken(plan::TestNode(2), Taken(120, 1));
  for (const uint32_t length : {128u, 170u}) {
    const std::vector<wire::KvRows> rows = AllRows(*sender_.memory, /*is_over=*/true);
    ASSERT_EQ(rows.size(), 1u);
    sender_.memory->OnKvTaken(plan::TestNode(2), *receiver_.Import(rows[0]).value());
    EXPECT_EQ(receiver_.length(), length);
  }
}

TEST_F(StageMemoryTest, FewRowsWaitForMoreUntilNoMoreCome) {
  sender_.Begin(tokens_, 1);
  sender_.Compute(First(100));
  ASSERT_TRUE(sender_.memory->SendKv(Wanted(100, kv::kMaxPositions, 1, /*step=*/32)).ok());
  sender_.Compute(std::span(tokens_).subspan(100, 31));
  EXPECT_TRUE(AllRows(*sender_.memory, /*is_over=*/false).empty());
  sender_.Compute(std::span(tokens_).subspan(131, 1));
  EXPECT_FALSE(AllRows(*sender_.memory, /*is_over=*/false).empty());
  sender_.memory->OnKvTaken(plan::TestNode(2), Taken(128, 1));
  sender_.Compute(std::span(tokens_).subspan(132, 3));
  EXPECT_TRUE(AllRows(*sender_.memory, /*is_over=*/false).empty());
  EXPECT_EQ(AllRows(*sender_.memory, /*is_over=*/true).size(), 1u);
}

// A restarted node must not take rows from the middle of a text as its beginning.
TEST_F(StageMemoryTest, ANodeWithoutTheSequenceRefusesRows) {
  sender_.Begin(tokens_, 1);
  receiver_.Begin(tokens_, 1);
  sender_.Compute(First(400));
  ASSERT_TRUE(sender_.memory->SendKv(Wanted(0, 400, 1)).ok());
  const std::vector<wire::KvRows> rows = AllRows(*sender_.memory);
  ASSERT_TRUE(receiver_.Import(rows[0]).value());
  NodeWithKv restarted;
  // The text was not begun there.
  EXPECT_FALSE(restarted.Import(rows[1]).value().has_value());
  EXPECT_EQ(restarted.memory->Find(kSequence), nullptr);
  // The text was begun, but no rows are held: rows from its middle are refused, with a reason.
  restarted.Begin(tokens_, 1);
  const auto refused = restarted.Import(rows[1]);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("those from 0 on are missing"), std::string::npos)
      << refused.error().message();
  EXPECT_EQ(restarted.length(), 0u);
  for (const wire::KvRows& each : rows) ASSERT_TRUE(restarted.Import(each).value());
  EXPECT_EQ(restarted.length(), 400u);
}

TEST_F(StageMemoryTest, RowsOfAnEarlierEpochAreNothing) {
  sender_.Begin(tokens_, 1);
  receiver_.Begin(tokens_, 1);
  sender_.Compute(First(200));
  ASSERT_TRUE(sender_.memory->SendKv(Wanted(0, 200, 1)).ok());
  const std::vector<wire::KvRows> rows = AllRows(*sender_.memory);
  receiver_.Begin(tokens_, 2);
  EXPECT_FALSE(receiver_.Import(rows[0]).value().has_value());
  EXPECT_EQ(receiver_.length(), 0u);
  // Orders of another epoch are ignored, too; and Begin ends earlier orders.
  ASSERT_TRUE(sender_.memory->SendKv(Wanted(0, 200, 7)).ok());
  EXPECT_TRUE(AllRows(*sender_.memory).empty());
  ASSERT_TRUE(sender_.memory->SendKv(Wanted(0, 200, 1)).ok());
  sender_.Begin(tokens_, 2);
  EXPECT_TRUE(AllRows(*sender_.memory).empty());
}

TEST_F(StageMemoryTest, RowsOfAnotherTextAreRefused) {
  std::vector<int32_t> other = tokens_;
  other[150] ^= 1;
  sender_.Begin(tokens_, 1);
  receiver_.Begin(other, 1);
  sender_.Compute(First(400));
  receiver_.Compute(std::span<const int32_t>(other).first(200));
  ASSERT_TRUE(sender_.memory->SendKv(Wanted(200, 400, 1)).ok());
  for (const wire::KvRows& rows : AllRows(*sender_.memory)) {
    EXPECT_FALSE(receiver_.Import(rows).ok());
  }
  EXPECT_EQ(receiver_.length(), 200u);
}

TEST_F(StageMemoryTest, DamageIsSeen) {
  sender_.Begin(tokens_, 1);
  sender_.Compute(First(300));
  ASSERT_TRUE(sender_.memory->SendKv(Wanted(0, 300, 1)).ok());
  const std::vector<wire::KvRows> rows = AllRows(*sender_.memory);
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    NodeWithKv taker;
    taker.Begin(tokens_, 1);
    wire::KvRows damaged = rows[0];
    const size_t at = random.NextBelow(damaged.chunk.size());
    if (random.NextBelow(2) == 0) {
      damaged.chunk.resize(at);
    } else {
      damaged.chunk[at] ^= static_cast<uint8_t>(1 + random.NextBelow(255));
    }
    // Only the layout's description in the header may differ.
    const auto taken = taker.Import(damaged);
    EXPECT_EQ(taker.length(), taken.ok() ? 128u : 0u);
  }
}

TEST_F(StageMemoryTest, RowsThatAreNotExactAreRefused) {
  sender_.Begin(tokens_, 1);
  sender_.Compute(First(300));
  ASSERT_TRUE(sender_.memory->SendKv(Wanted(0, 300, 1)).ok());
  wire::KvRows rows = AllRows(*sender_.memory).front();
  rows.encoding = wire::RowEncoding::kQ8;
  NodeWithKv taker;
  taker.Begin(tokens_, 1);
  EXPECT_FALSE(taker.Import(rows).ok());
  rows.encoding = wire::RowEncoding::kF32;
  EXPECT_TRUE(taker.Import(rows).ok());
}

std::vector<uint8_t> RowsHeld(NodeWithKv& holder, uint32_t begin, uint32_t end,
                              wire::SequenceId sequence = kSequence) {
  std::vector<uint8_t> bytes;
  const Status exported =
      kv::Export(holder.memory->Find(sequence)->table, kAll, begin, end, [&](Bytes piece) {
        bytes.insert(bytes.end(), piece.begin(), piece.end());
        return Ok();
      });
  EXPECT_TRUE(exported.ok());
  return bytes;
}

// A fork also shares rows of a page that is not full and has no hash. Neither sequence changes the
// other's rows.
TEST_F(StageMemoryTest, AForkSharesAllRows) {
  constexpr wire::SequenceId kFork = 2;
  const auto table_of = [&](wire::SequenceId sequence) -> kv::PageTable& {
    return sender_.memory->Find(sequence)->table;
  };
  sender_.Begin(tokens_, 1);
  sender_.Compute(First(300));
  const std::vector<uint8_t> rows = RowsHeld(sender_, 0, 300);
  // Up to the first token that differs; the last one is left to be computed.
  std::vector<int32_t> other(First(290).begin(), First(290).end());
  other.back() = (other.back() + 1) % 298;
  other.push_back(7);
  sender_.Begin(other, 2, kFork);
  EXPECT_EQ(table_of(kFork).length(), 289u);
  EXPECT_EQ(table_of(kFork).hash(), table_of(kSequence).history().HashAt(289));
  sender_.Compute(std::span(other).subspan(289), kFork);
  EXPECT_EQ(RowsHeld(sender_, 0, 300), rows);
  // The fork's later rows are those of a node that has computed the whole text.
  receiver_.Begin(other, 1);
  receiver_.Compute(other);
  const kv::PageTable& own = receiver_.memory->Find(kSequence)->table;
  EXPECT_EQ(table_of(kFork).hash(), own.hash());
  EXPECT_EQ(RowsHeld(sender_, 0, 291, kFork), RowsHeld(receiver_, 0, 291));
}

// With a window, too, an earlier turn is found at a page boundary. Each transferred page is enough
// to continue from, and has no row that is not needed any more.
TEST_F(StageMemoryTest, AWindowThatHasMovedOnIsFoundAgain) {
  const model::MemoryOptions rows{.window = 60, .sinks = 4};
  NodeWithKv giver(uint64_t{1} << 26, wire::RowEncoding::kF32, rows);
  NodeWithKv taker(uint64_t{1} << 26, wire::RowEncoding::kF32, rows);
  giver.Begin(tokens_, 1);
  giver.Compute(First(130));
  giver.Compute(std::span(tokens_).subspan(130, 260));
  giver.Compute(std::span(tokens_).subspan(390));
  const uint64_t held_bytes = giver.memory->Find(kSequence)->table.HeldBytes();
  giver.Begin(First(300), 2);
  EXPECT_EQ(giver.length(), 256u);
  EXPECT_LE(giver.memory->Find(kSequence)->table.HeldBytes(), held_bytes);
  giver.Compute(std::span(tokens_).subspan(256, 44));
  giver.Begin(tokens_, 3);
  taker.Begin(tokens_, 3);
  ASSERT_TRUE(giver.memory->SendKv(Wanted(0, 450, 3)).ok());
  const std::vector<wire::KvRows> chunks = AllRows(*giver.memory);
  for (const wire::KvRows& one : chunks) ASSERT_TRUE(taker.Import(one).value());
  EXPECT_EQ(taker.length(), giver.length());
  EXPECT_EQ(RowsHeld(taker, 0, taker.length()), RowsHeld(giver, 0, giver.length()));
}

// A node keeps the rows that it has computed, even if they come back compressed.
TEST_F(StageMemoryTest, RowsInFewerBitsDoNotTakeThePlaceOfThoseThatWereComputedHere) {
  constexpr uint64_t kBytes = uint64_t{1} << 26;
  NodeWithKv giver(kBytes, wire::RowEncoding::kQ8);
  NodeWithKv taker(kBytes, wire::RowEncoding::kQ8);
  giver.Begin(tokens_, 1);
  taker.Begin(tokens_, 1);
  giver.Compute(First(400));
  taker.Compute(First(200));
  const std::vector<uint8_t> before = RowsHeld(taker, 0, 200);
  ASSERT_TRUE(giver.memory->SendKv(Wanted(0, 400, 1)).ok());
  size_t small_bytes = 0;
  for (const wire::KvRows& rows : AllRows(*giver.memory)) {
    EXPECT_EQ(rows.encoding, wire::RowEncoding::kQ8);
    small_bytes += rows.chunk.size();
    ASSERT_TRUE(taker.Import(rows).value());
  }
  EXPECT_EQ(taker.length(), 400u);
  EXPECT_EQ(RowsHeld(taker, 0, 200), before);
  EXPECT_LT(small_bytes, RowsHeld(giver, 0, 400).size() * 6 / 10);
  EXPECT_NE(RowsHeld(taker, 200, 400), RowsHeld(giver, 200, 400));
}

// Inexact rows have other names, so that requests for exact rows do not find them.
TEST_F(StageMemoryTest, RowsThatTravelInFewerBitsAreOfAnotherLayout) {
  NodeWithKv inexact(uint64_t{1} << 26, wire::RowEncoding::kQ8);
  EXPECT_NE(inexact.model->layout().digest(), receiver_.model->layout().digest());
  inexact.Begin(tokens_, 1);
  receiver_.Begin(tokens_, 1);
  inexact.Compute(First(300));
  ASSERT_TRUE(inexact.memory->SendKv(Wanted(0, 300, 1)).ok());
  for (wire::KvRows rows : AllRows(*inexact.memory)) {
    EXPECT_FALSE(receiver_.Import(rows).ok());
    rows.encoding = wire::RowEncoding::kF32;
    EXPECT_FALSE(receiver_.Import(rows).ok());
  }
  EXPECT_EQ(receiver_.length(), 0u);
}

// A transfer ends if the receiver refuses it.
TEST_F(StageMemoryTest, AReceiverThatRefusesRowsGetsNoMore) {
  const auto in_flight = std::make_shared<KvInFlight>(1);
  sender_.memory.emplace(kMemoryRoute, *sender_.model, nullptr, wire::RowEncoding::kF32, in_flight);
  sender_.Begin(tokens_, 1);
  sender_.Compute(tokens_);
  ASSERT_TRUE(sender_.memory->SendKv(Wanted(0, 500, 1)).ok());
  const std::vector<wire::KvRows> rows = AllRows(*sender_.memory);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(sender_.memory->TakeHeldBack(), std::set<wire::SequenceId>{kSequence});
  EXPECT_TRUE(sender_.memory->TakeHeldBack().empty());
  EXPECT_FALSE(in_flight->MaySend(plan::TestNode(2), true));
  sender_.memory->OnKvTaken(plan::TestNode(3), RefusalOf(rows[0], kAll));
  EXPECT_FALSE(in_flight->MaySend(plan::TestNode(2), true)) << "that was another node";
  sender_.memory->OnKvTaken(plan::TestNode(2), RefusalOf(rows[0], kAll));
  EXPECT_TRUE(in_flight->MaySend(plan::TestNode(2), true));
  EXPECT_TRUE(sender_.memory->Find(kSequence)->kv_sends.empty());
  EXPECT_TRUE(AllRows(*sender_.memory).empty());
}

TEST_F(StageMemoryTest, InvalidOrdersAreRefused) {
  sender_.Begin(tokens_, 1);
  sender_.Compute(tokens_);
  wire::SendKv order = Wanted(0, 500, 1);
  ASSERT_TRUE(sender_.memory->SendKv(order).ok());
  order.layer_end = 1;
  ASSERT_TRUE(sender_.memory->SendKv(order).ok());
  // Both run at once; the same order again replaces the first one.
  ASSERT_TRUE(sender_.memory->SendKv(order).ok());
  EXPECT_EQ(sender_.memory->Find(kSequence)->kv_sends.size(), 2u);
  order.layer_end = plan::kTestLayers + 1;
  EXPECT_FALSE(sender_.memory->SendKv(order).ok());
  order = Wanted(9, 3, 1);
  EXPECT_FALSE(sender_.memory->SendKv(order).ok());
  order = Wanted(0, 500, 1, /*step=*/0);
  EXPECT_FALSE(sender_.memory->SendKv(order).ok());
}

}  // namespace
}  // namespace aster::stage
