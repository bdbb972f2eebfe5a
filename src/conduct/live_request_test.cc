// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/live_request.h"

#include <gmock/gmock.h>

#include "conduct/parts_for_test.h"

namespace aster::conduct {
namespace {

using testing::ElementsAre;

constexpr Path kBoth{0, 2};
constexpr Path kOther{2, 3};

class LiveRequestTest : public testing::Test {
 protected:
  LiveRequest& Make(size_t prompt, engine::Request request = {}) {
    live_ = requests_.Make(prompt, std::move(request));
    live_->phase = RequestPhase::kPrefill;
    live_->prefill_path = live_->decode_path = kBoth;
    return *live_;
  }

  TestRequests requests_;
  std::unique_ptr<LiveRequest> live_;
};

TEST_F(LiveRequestTest, ItsLastTokenIsDecodedOnceAllElseIsComputed) {
  LiveRequest& live = Make(10);
  EXPECT_TRUE(live.has_prefill());
  live.sent = 9;
  live.in_flight = 1;
  // Tokens in flight may be followed by the last token, in a frame of prefill.
  EXPECT_TRUE(live.has_prefill());
  EXPECT_FALSE(live.is_ready_to_decode());
  live.in_flight = 0;
  EXPECT_FALSE(live.has_prefill());
  EXPECT_TRUE(live.is_ready_to_decode());
}

TEST_F(LiveRequestTest, TheDecodePathComputesTheLastTokenOnceItHasTheOthers) {
  LiveRequest& live = Make(10);
  live.decode_path = kOther;
  EXPECT_EQ(live.prefill_end(), 9u);
  live.sent = 9;
  EXPECT_TRUE(live.lacks_last_token());
  EXPECT_TRUE(live.awaits_transfer());
  EXPECT_FALSE(live.is_ready_to_decode());
  live.phase = RequestPhase::kTransferred;
  EXPECT_TRUE(live.is_ready_to_decode());
}

TEST_F(LiveRequestTest, ASegmentAsksForATokenAfterTheTextOnly) {
  const LiveRequest& live = Make(10);
  EXPECT_EQ(live.WantedAfter(9), wire::Wanted::kNothing);
  EXPECT_EQ(live.WantedAfter(10), wire::Wanted::kToken);
  EXPECT_EQ(Make(10, {.max_tokens = 0}).WantedAfter(10), wire::Wanted::kNothing);
  engine::Request edited;
  edited.edit_logits = [](std::span<const int32_t>, std::span<float>) {};
  EXPECT_EQ(Make(10, edited).WantedAfter(10), wire::Wanted::kLastLogits);
  LiveRequest& logits = Make(10, {.max_tokens = 0});
  logits.logits = LogitsCollector([](std::span<const float>) { return Ok(); }, 64, 0);
  EXPECT_EQ(logits.WantedAfter(5), wire::Wanted::kAllLogits);
  logits.logits =
      LogitsCollector([](std::span<const float>) { return Ok(); }, 64, 9, wire::Wanted::kLastState);
  EXPECT_EQ(logits.WantedAfter(9), wire::Wanted::kNothing);
  EXPECT_EQ(logits.WantedAfter(10), wire::Wanted::kLastState);
}

TEST_F(LiveRequestTest, OneStageDecodesByItselfUnlessTokensAreChosenHere) {
  EXPECT_TRUE(Make(10).IsContinuedBy(kOther));
  EXPECT_FALSE(Make(10).IsContinuedBy(kBoth));
  engine::Request edited;
  edited.edit_logits = [](std::span<const int32_t>, std::span<float>) {};
  EXPECT_FALSE(Make(10, edited).IsContinuedBy(kOther));
  engine::Request drafted;
  drafted.draft.kind = engine::DraftKind::kModel;
  EXPECT_FALSE(Make(10, drafted).IsContinuedBy(kOther));
}

TEST_F(LiveRequestTest, TokensBehindTheNextOneAreLimitedByCountAndContext) {
  EXPECT_EQ(Make(10, {.max_tokens = 5}).TokensAfterNext(), 4u);
  EXPECT_EQ(Make(10, {.max_tokens = 5, .context_limit = 12}).TokensAfterNext(), 1u);
  EXPECT_EQ(Make(10, {.max_tokens = 5, .context_limit = 10}).TokensAfterNext(), 0u);
}

TEST_F(LiveRequestTest, WhatAStageHoldsOfAnotherTextIsNothing) {
  LiveRequest& live = Make(10);
  live.history.emplace(Hash128{1, 2});
  live.history->Append(live.request.sequence().tokens());
  const auto holds = [&](uint32_t stage, uint32_t length, const Hash128& hash) {
    wire::Holds message;
    message.stage = stage;
    message.length = length;
    message.hash = hash;
    live.TakeHolds(message);
  };
  holds(0, 7, live.history->HashAt(7));
  EXPECT_EQ(live.HeldBy(kBoth), 0u);  // the other stage has not replied
  holds(1, 9, live.history->HashAt(9));
  EXPECT_EQ(live.HeldBy(kBoth), 7u);
  holds(1, 9, live.history->HashAt(8));
  EXPECT_EQ(live.HeldBy(kBoth), 0u);
  holds(1, 11, live.history->HashAt(10));
  EXPECT_EQ(live.HeldBy(kBoth), 0u);
}

TEST(LogitsCollector, PassesEachRowOnceAndStopsAtAnError) {
  std::vector<float> rows;
  const auto sink = [&](std::span<const float> row) {
    rows.push_back(row[0]);
    return row[0] == 6 ? Status(DataLoss("the sink is full")) : Ok();
  };
  LogitsCollector logits(sink, 64, /*begin=*/2);
  const std::vector<float> first{1, 1, 2, 2, 3, 3};
  logits.Take(1, first, /*width=*/2);
  EXPECT_THAT(rows, ElementsAre(2, 3));
  // A route broke, and rows come again.
  const std::vector<float> again{2, 2, 3, 3, 4, 4};
  logits.Take(2, again, 2);
  EXPECT_THAT(rows, ElementsAre(2, 3, 4));
  EXPECT_EQ(logits.next(), 5u);
  const std::vector<float> last{5, 5, 6, 6, 7, 7};
  logits.Take(5, last, 2);
  EXPECT_THAT(rows, ElementsAre(2, 3, 4, 5, 6));
  EXPECT_FALSE(logits.status().ok());
  EXPECT_FALSE(LogitsCollector().is_wanted());
}

}  // namespace
}  // namespace aster::conduct
