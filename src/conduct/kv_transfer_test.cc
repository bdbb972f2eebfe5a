// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/kv_transfer.h"

#include <gmock/gmock.h>

#include "conduct/parts_for_test.h"

namespace aster::conduct {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Path kPrefill{0, 2};
constexpr Path kDecode{2, 3};

// Nodes a and b compute prompts, with two layers each; c decodes with all four.
class KvTransferTest : public testing::Test {
 protected:
  LiveRequest& Begin(size_t prompt, uint32_t prefill_holds, uint32_t decode_holds,
                     KvCosts* costs = nullptr) {
    live_ = requests_.Make(prompt);
    BeginForTest(*live_, *route_, prefill_holds);
    for (uint32_t stage = 2; stage < route_->stages().size(); ++stage) {
      live_->holds[stage] = decode_holds;
    }
    transfer_.emplace(*route_, costs == nullptr ? costs_ : *costs, network_.virtual_clock,
                      KvTransferOptions{.direct_tokens = pinned_, .sync_step = 32});
    transfer_->Start(*live_);
    return *live_;
  }
  struct Order {
    char from, to;
    uint32_t layer_begin, layer_end, begin, end, step;
    bool operator==(const Order&) const = default;
  };
  std::vector<Order> TakeOrders() {
    const auto name = [](const wire::NodeId& node) {
      return static_cast<char>('a' + node.value.low - plan::TestNode(1).value.low);
    };
    std::vector<Order> orders;
    for (const auto& [from, sent] : network_.Take<wire::SendKv>()) {
      EXPECT_EQ(sent.epoch, live_->epoch);
      EXPECT_EQ(sent.sequence, live_->memory->id());
      orders.push_back({name(from), name(sent.to), sent.layer_begin, sent.layer_end, sent.begin,
                        sent.end, sent.step});
    }
    return orders;
  }

  RecordingNetwork network_;
  TestRequests requests_;
  std::unique_ptr<RouteClient> route_ = ReadyRoute(network_, "a=0:1,b=2:out decode c");
  KvCosts costs_{wire::RowEncoding::kF32, 0, nullptr};
  std::optional<uint32_t> pinned_;  // direct_tokens
  std::unique_ptr<LiveRequest> live_;
  std::optional<KvTransfer> transfer_;
};

TEST_F(KvTransferTest, AShortPromptIsTheDecodePathsOwn) {
  const LiveRequest& live = Begin(64, 0, 0);
  EXPECT_EQ(live.phase, RequestPhase::kPrefill);
  EXPECT_EQ(live.prefill_path, kDecode);
  EXPECT_EQ(live.prefill_end(), 64u);
  EXPECT_THAT(TakeOrders(), IsEmpty());
}

// The times of the paths decide, if they are known.
TEST_F(KvTransferTest, TheDecodePathComputesWhatItHasAsSoon) {
  const auto path_of = [&](size_t prompt, double direct_token_s, double other_token_s) {
    KvCosts costs(wire::RowEncoding::kF32, 0, nullptr);
    costs.OpenRoute(
        {.first_chunk_s = 512 * other_token_s, .chunk_s = 256 * other_token_s, .token_s = 0.01},
        {.first_chunk_s = 256 * direct_token_s, .chunk_s = 256 * direct_token_s, .token_s = 0.01});
    const Path path = Begin(prompt, 0, 0, &costs).prefill_path;
    TakeOrders();
    return path;
  };
  // The prefill path is slower in a prompt's first part, as its two stages compute it in turn.
  EXPECT_EQ(path_of(200, 0.01, 0.006), kDecode);
  EXPECT_EQ(path_of(2000, 0.01, 0.006), kPrefill);
  EXPECT_EQ(path_of(20, 0.01, 0.001), kPrefill);
  // It is not used for a gain of less than a tenth.
  EXPECT_EQ(path_of(2000, 0.001, 0.001), kDecode);
  EXPECT_EQ(path_of(2000, 0.001, 0.0001), kPrefill);
}

TEST_F(KvTransferTest, MeasuredTimesDecideWhereThePlanWasWrong) {
  KvCosts costs(wire::RowEncoding::kF32, 0, nullptr);
  costs.OpenRoute({.first_chunk_s = 1, .chunk_s = 0.5, .token_s = 0.01},
                  {.first_chunk_s = 2, .chunk_s = 2, .token_s = 0.01});
  EXPECT_EQ(Begin(1000, 0, 0, &costs).prefill_path, kPrefill);
  // The prefill path has become slow.
  for (int i = 0; i < 3; ++i) costs.prefill().LearnPrefill(999, 60);
  EXPECT_EQ(Begin(1000, 0, 0, &costs).prefill_path, kDecode);
}

TEST_F(KvTransferTest, ANumberThatWasGivenDecidesWhateverIsExpected) {
  KvCosts costs(wire::RowEncoding::kF32, 0, nullptr);
  costs.OpenRoute({.first_chunk_s = 0.01, .chunk_s = 0.01, .token_s = 0.01},
                  {.first_chunk_s = 2, .chunk_s = 2, .token_s = 0.01});
  EXPECT_EQ(Begin(100, 0, 0, &costs).prefill_path, kPrefill);
  pinned_ = 100;
  EXPECT_EQ(Begin(100, 0, 0, &costs).prefill_path, kDecode);
  EXPECT_EQ(Begin(101, 0, 0, &costs).prefill_path, kPrefill);
  EXPECT_EQ(Begin(101, 1, 1, &costs).prefill_path, kDecode);
  pinned_ = 0;
  EXPECT_EQ(Begin(2, 0, 0, &costs).prefill_path, kPrefill);
}

TEST_F(KvTransferTest, RowsOfALongPromptGoToTheDecodePath) {
  LiveRequest& live = Begin(300, 128, 100);
  EXPECT_EQ(live.phase, RequestPhase::kPrefill);
  EXPECT_EQ(live.prefill_path, kPrefill);
  EXPECT_EQ(live.sent, 128u);
  EXPECT_THAT(TakeOrders(),
              ElementsAre(Order{'a', 'c', 0, 2, 100, 299, 1}, Order{'b', 'c', 2, 4, 100, 299, 1}));
  EXPECT_GT(live.transfer.prompt_bytes, 0u);
  // The prompt is computed, but the rows have not arrived.
  live.sent = 299;
  transfer_->Advance(live);
  EXPECT_EQ(live.phase, RequestPhase::kPrefill);
  EXPECT_TRUE(live.awaits_transfer());
  live.holds[2] = 299;
  transfer_->Advance(live);
  EXPECT_EQ(live.phase, RequestPhase::kTransferred);
  EXPECT_FALSE(live.awaits_transfer());
}

TEST_F(KvTransferTest, NewRowsReturnToThePrefillPathOnceTheFirstTokenIsAskedFor) {
  LiveRequest& live = Begin(300, 0, 0);
  TakeOrders();
  live.sent = 299;
  live.holds[2] = 299;
  transfer_->Advance(live);
  transfer_->StartDecode(live);
  EXPECT_EQ(live.phase, RequestPhase::kDecode);
  // The prefill path has computed 299 positions, which it does not report.
  EXPECT_THAT(TakeOrders(), ElementsAre(Order{'c', 'a', 0, 2, 299, kv::kMaxPositions, 32},
                                        Order{'c', 'b', 2, 4, 299, kv::kMaxPositions, 32}));
  transfer_->StartDecode(live);
  EXPECT_THAT(TakeOrders(), IsEmpty());
}

TEST_F(KvTransferTest, AShortPromptReturnsToThePrefillPathAsWell) {
  LiveRequest& live = Begin(10, 4, 6);
  transfer_->StartDecode(live);
  EXPECT_THAT(TakeOrders(), ElementsAre(Order{'c', 'a', 0, 2, 4, kv::kMaxPositions, 32},
                                        Order{'c', 'b', 2, 4, 4, kv::kMaxPositions, 32}));
}

// Stages that get a segment for each token do not know which of their rows stay.
TEST_F(KvTransferTest, RowsOfSeveralStagesReturnInPartsThatAreCertain) {
  route_ = ReadyRoute(network_, "a=0:1,b=2:out decode c=0:1,d=2:out");
  pinned_ = 0;
  LiveRequest& live = Begin(300, 0, 0);
  live.holds[2] = live.holds[3] = live.sent = 299;
  TakeOrders();
  transfer_->Advance(live);
  transfer_->StartDecode(live);
  EXPECT_THAT(TakeOrders(), IsEmpty());
  live.memory->SetLength(330);
  transfer_->SyncAnswer(live);
  EXPECT_THAT(TakeOrders(), IsEmpty());
  live.memory->SetLength(340);
  transfer_->SyncAnswer(live);
  EXPECT_THAT(TakeOrders(), ElementsAre(Order{'c', 'a', 0, 2, 299, 340, 32},
                                        Order{'d', 'b', 2, 4, 299, 340, 32}));
  // The next part follows when both have the one before.
  live.memory->SetLength(400);
  live.holds[0] = 340;
  transfer_->SyncAnswer(live);
  EXPECT_THAT(TakeOrders(), IsEmpty());
  live.holds[1] = 340;
  transfer_->SyncAnswer(live);
  EXPECT_THAT(TakeOrders(), ElementsAre(Order{'c', 'a', 0, 2, 340, 400, 32},
                                        Order{'d', 'b', 2, 4, 340, 400, 32}));
  // The last part follows in any case, and replaces the order in flight.
  live.memory->SetLength(410);
  live.holds[0] = 400;
  transfer_->SyncRest(live);
  EXPECT_THAT(TakeOrders(), ElementsAre(Order{'c', 'a', 0, 2, 400, 410, 32},
                                        Order{'d', 'b', 2, 4, 340, 410, 32}));
}

TEST_F(KvTransferTest, ThePrefillPathIsSentWhatItLacks) {
  LiveRequest& live = Begin(600, 100, 300);
  EXPECT_EQ(live.phase, RequestPhase::kSyncing);
  EXPECT_EQ(live.sent, 300u);
  EXPECT_TRUE(live.awaits_transfer());
  EXPECT_THAT(TakeOrders(),
              ElementsAre(Order{'c', 'a', 0, 2, 100, 300, 1}, Order{'c', 'b', 2, 4, 100, 300, 1},
                          Order{'a', 'c', 0, 2, 300, 599, 1}, Order{'b', 'c', 2, 4, 300, 599, 1}));
  live.holds[0] = 300;
  transfer_->OnHolds(live);
  EXPECT_EQ(live.phase, RequestPhase::kSyncing);
  live.holds[1] = 300;
  transfer_->OnHolds(live);
  EXPECT_EQ(live.phase, RequestPhase::kPrefill);
}

TEST_F(KvTransferTest, WhereNoRateIsKnownLessThanAPageIsComputedAgain) {
  const LiveRequest& live = Begin(600, 173, 300);
  EXPECT_EQ(live.phase, RequestPhase::kPrefill);
  EXPECT_EQ(live.sent, 173u);
}

TEST_F(KvTransferTest, RowsAreSentWhereThatTakesLessTimeThanComputingThem) {
  const auto with_rate = [&](double bytes_per_s) {
    KvCosts costs(wire::RowEncoding::kF32, /*planned_tokens_per_s=*/1000, [=] {
      return std::vector<KvPeer>{{.node = {.id = plan::TestNode(3), .name = "c", .addresses = {}},
                                  .bytes_per_s = bytes_per_s}};
    });
    return Begin(600, 100, 300, &costs).phase;
  };
  // 200 positions: 0.2 s of computing, or 200 kB.
  EXPECT_EQ(with_rate(10e6), RequestPhase::kSyncing);
  EXPECT_EQ(with_rate(100e3), RequestPhase::kPrefill);
}

TEST_F(KvTransferTest, TheRateOfASyncIsLearnt) {
  KvCosts costs(wire::RowEncoding::kF32, 0, nullptr);
  LiveRequest& live = Begin(5000, 0, 4000, &costs);
  ASSERT_EQ(live.phase, RequestPhase::kSyncing);
  network_.virtual_clock.AdvanceBy(2 * kNsPerSecond);
  live.holds[0] = live.holds[1] = 4000;
  transfer_->OnHolds(live);
  const double bytes = 4000 * costs.BytesPerPosition(route_->layout(), {0, 4});
  EXPECT_DOUBLE_EQ(costs.BytesPerSecond(plan::TestNode(3)), bytes / 2);
}

TEST_F(KvTransferTest, LogitsComeFromThePrefillPathAndBehindTransferredRowsFromTheDecodePath) {
  const auto path_of = [&](uint32_t first_row, uint32_t decode_holds) {
    live_ = requests_.Make(300);
    live_->logits =
        LogitsCollector([](std::span<const float>) { return Ok(); }, /*chunk=*/64, first_row);
    BeginForTest(*live_, *route_, 0);
    live_->holds[2] = decode_holds;
    transfer_.emplace(*route_, costs_, network_.virtual_clock, KvTransferOptions());
    transfer_->Start(*live_);
    EXPECT_THAT(TakeOrders(), IsEmpty());
    EXPECT_EQ(live_->prefill_end(), 300u);
    return live_->prefill_path;
  };
  EXPECT_EQ(path_of(0, 200), kPrefill);
  EXPECT_EQ(path_of(150, 149), kPrefill);
  EXPECT_EQ(path_of(150, 150), kDecode);
  EXPECT_EQ(live_->sent, 150u);
}

TEST_F(KvTransferTest, ARouteOfOnePathSendsNothing) {
  route_ = ReadyRoute(network_, "a=0:1,b=2:out");
  live_ = requests_.Make(300);
  BeginForTest(*live_, *route_, 0);
  live_->holds[1] = 128;
  transfer_.emplace(*route_, costs_, network_.virtual_clock, KvTransferOptions());
  transfer_->Start(*live_);
  EXPECT_FALSE(live_->is_disaggregated());
  EXPECT_EQ(live_->sent, 0u);
  live_->sent = 300;
  transfer_->StartDecode(*live_);
  EXPECT_EQ(live_->phase, RequestPhase::kDecode);
  EXPECT_FALSE(live_->awaits_transfer());
  EXPECT_THAT(TakeOrders(), IsEmpty());
}

}  // namespace
}  // namespace aster::conduct
