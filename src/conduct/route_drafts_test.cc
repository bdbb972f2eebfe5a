// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/route_drafts.h"

#include <gmock/gmock.h>

#include "conduct/parts_for_test.h"

namespace aster::conduct {
namespace {

using engine::DraftKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Drafts the tokens 0, 1, 2…
class FixedProposers final : public engine::ProposerSource {
 public:
  Result<std::unique_ptr<engine::Proposer>> Make(const engine::Request&) override {
    return std::make_unique<Fixed>();
  }

 private:
  class Fixed final : public engine::Proposer {
   public:
    Status Propose(std::span<const int32_t>, uint32_t most, std::vector<int32_t>& tokens) override {
      for (uint32_t i = 0; i < most; ++i) tokens.push_back(static_cast<int32_t>(i));
      return Ok();
    }
  };
};

class RouteDraftsTest : public testing::Test {
 protected:
  void Open(const std::string& split) {
    route_ = ReadyRoute(network_, split);
    live_->decode_path = route_->decode_path();
  }
  LiveRequest& Make(DraftKind kind) {
    engine::Request request;
    request.draft = {.kind = kind, .most = 4};
    live_ = requests_.Make(10, request);
    return *live_;
  }
  void Offer(const std::vector<int32_t>& drafts) {
    drafts_.TakeStageDrafts(*live_, drafts, live_->length());
  }
  std::vector<int32_t> For(uint32_t most = 8) {
    return drafts_.For(*live_, *route_, wire::Wanted::kToken, most);
  }

  RecordingNetwork network_;
  TestRequests requests_;
  std::unique_ptr<LiveRequest> live_;
  std::unique_ptr<RouteClient> route_;
  const model::Shape shape_ = plan::TestModel::Get().shape();
  FixedProposers proposers_;
  FrameTimes times_;
  RouteDrafts drafts_{shape_, shape_.mtp_layers > 0, &proposers_, network_.virtual_clock, times_};
};

TEST_F(RouteDraftsTest, DraftersRunAtTheHeadByKindAndPlan) {
  Make(DraftKind::kNgram);
  Open("a");
  EXPECT_EQ(RouteDrafts::AtHead(*live_, *route_).most, 4u);
  Open("a=0:1,b=2:out");
  EXPECT_EQ(RouteDrafts::AtHead(*live_, *route_).most, 0u);
  // The MTP block drafts on the stage with the head.
  Make(DraftKind::kMtp);
  EXPECT_EQ(RouteDrafts::AtHead(*live_, *route_).most, 4u);
}

TEST_F(RouteDraftsTest, UnavailableDraftersAreReported) {
  const auto why = [&](DraftKind kind, engine::ProposerSource* proposers) -> std::string {
    RouteDrafts drafts(shape_, shape_.mtp_layers > 0, proposers, network_.virtual_clock, times_);
    const auto made = drafts.SpeculationFor(Make(kind).request.request());
    return made.ok() ? (*made ? "here" : "") : made.error().message();
  };
  EXPECT_EQ(why(DraftKind::kNone, &proposers_), "");
  EXPECT_EQ(why(DraftKind::kNgram, nullptr), "");
  EXPECT_EQ(why(DraftKind::kNgram, &proposers_), "here");
  EXPECT_EQ(why(DraftKind::kModel, &proposers_), "here");
  EXPECT_THAT(why(DraftKind::kModel, nullptr), HasSubstr("no draft model"));
  EXPECT_THAT(why(DraftKind::kMtp, &proposers_), HasSubstr("no MTP block"));
}

TEST_F(RouteDraftsTest, DraftTokensOfAStageAreSentBackBehindTheTokenThatTheyFollow) {
  network_.protocol = wire::kGroupProtocol;
  LiveRequest& live = Make(DraftKind::kMtp);
  Open("a=0:1,b=2:out");
  TakeFirstToken(live, 3);
  Offer({5, 6, 7});
  EXPECT_THAT(For(2), ElementsAre(5, 6));
  Offer({5, static_cast<int32_t>(shape_.vocab_size)});
  EXPECT_THAT(For(), IsEmpty());  // not tokens of this model
  Offer({5, 6, 7});
  live.request.sequence().Append(9);
  EXPECT_THAT(For(), IsEmpty());  // of an older history
}

TEST_F(RouteDraftsTest, NoDraftTokensOnceAStageHadNoMemoryForThem) {
  network_.protocol = wire::kGroupProtocol;
  LiveRequest& live = Make(DraftKind::kMtp);
  Open("a=0:1,b=2:out");
  TakeFirstToken(live, 3);
  const auto are_sent = [&] {
    Offer({5});
    return !For().empty();
  };
  EXPECT_TRUE(are_sent());
  live.drafting = LiveRequest::Drafting::kNoMemory;
  EXPECT_FALSE(are_sent());
}

TEST_F(RouteDraftsTest, ADrafterHereLearnsWhenTheLastDraftTokenIsKnown) {
  network_.protocol = wire::kGroupProtocol;
  LiveRequest& live = Make(DraftKind::kNgram);
  Open("a=0:1,b=2:out");
  live.request.Speculate(drafts_.SpeculationFor(live.request.request()).value());
  TakeFirstToken(live, 3);
  // First the times of steps without draft tokens are measured, after the first cold ones.
  for (int i = 0; i < 7; ++i) {
    EXPECT_THAT(For(), IsEmpty());
    RouteDrafts::Count(live, {}, {});
  }
  const size_t count = For().size();
  ASSERT_GT(count, 0u);
  const auto drafted = static_cast<uint32_t>(count);
  RouteDrafts::Count(live, {}, {.drafted = drafted, .accepted = 0, .continues = true});
  EXPECT_EQ(live.request.speculation()->counts().drafted, 0u);
  RouteDrafts::Count(live, {}, {.drafted = drafted, .accepted = 1, .continues = false});
  EXPECT_EQ(live.request.speculation()->counts().drafted, count);
  EXPECT_EQ(live.request.speculation()->counts().accepted, 1u);
}

// Two stages of the same speed, where further rows cost little.
FrameTimes TwoStages() {
  FrameTimes times;
  const auto hops = [](uint64_t ns) {
    return std::vector<wire::Hop>{{.queue_ns = 0, .compute_ns = ns, .bytes_out = 0},
                                  {.queue_ns = 0, .compute_ns = ns, .bytes_out = 0}};
  };
  times.Learn(1, hops(1000), 2000);
  times.Learn(9, hops(1400), 2800);
  return times;
}

TEST_F(RouteDraftsTest, FramesAheadGoOnWhereThoseInFlightEnd) {
  LiveRequest& live = Make(DraftKind::kMtp);
  Open("a=0:1,b=2:out");
  TakeFirstToken(live, 3);
  Offer({5, 6, 7, 8});
  // There are no draft tokens before a frame was timed.
  EXPECT_THAT(For(), IsEmpty());
  times_ = TwoStages();
  live.chain.tokens = For();
  const DraftPace::Step step = live.chain.step;
  EXPECT_GT(step.rows * step.frames, 1u);
  EXPECT_EQ(live.chain.tokens.size(), step.rows - 1);
  // All draft tokens of the stage are sent, and no more.
  for (int i = 0; i < 8; ++i) {
    const auto ahead = drafts_.Ahead(live, *route_);
    live.chain.tokens.insert(live.chain.tokens.end(), ahead.begin(), ahead.end());
  }
  EXPECT_THAT(live.chain.tokens, ElementsAre(5, 6, 7, 8));
  EXPECT_EQ(live.request.counts().drafts.drafted, 4u);
  // The first draft token was right: without new ones the others stay.
  EXPECT_FALSE(live.request.TakeChoice(engine::Choice{.id = 5}, 2));
  drafts_.TakeStageDrafts(live, {}, live.length());
  drafts_.FollowChain(live);
  EXPECT_THAT(live.chain.tokens, ElementsAre(6, 7, 8));
  EXPECT_THAT(live.stage_drafts.tokens, ElementsAre(6, 7, 8));
  EXPECT_EQ(live.request.counts().drafts.accepted, 1u);
  // The next draft token was wrong.
  EXPECT_FALSE(live.request.TakeChoice(engine::Choice{.id = 9}, 3));
  drafts_.TakeStageDrafts(live, {}, live.length());
  drafts_.FollowChain(live);
  EXPECT_THAT(live.chain.tokens, IsEmpty());
  EXPECT_THAT(drafts_.Ahead(live, *route_), IsEmpty());
}

TEST_F(RouteDraftsTest, WhereTokensAreChosenHereTheStageHasToHaveChosenThem) {
  LiveRequest& live = Make(DraftKind::kMtp);
  Open("a=0:1,b=2:out");
  TakeFirstToken(live, 3);
  // The stage's draft tokens begin with the newest token of the text.
  drafts_.TakeStageDrafts(live, std::vector<int32_t>{3, 5, 6}, live.length() - 1);
  EXPECT_THAT(live.stage_drafts.tokens, ElementsAre(5, 6));
  drafts_.TakeStageDrafts(live, std::vector<int32_t>{4, 5, 6}, live.length() - 1);
  EXPECT_THAT(live.stage_drafts.tokens, IsEmpty());
}

}  // namespace
}  // namespace aster::conduct
