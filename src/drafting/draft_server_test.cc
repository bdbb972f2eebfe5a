// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "drafting/draft_server.h"

#include <gmock/gmock.h>

#include "drafting/network_for_test.h"

namespace aster::drafting {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Vocabulary kVocabulary{.digest = {7, 8}, .size = 1000};
constexpr Hash128 kModel{1, 2};
const wire::NodeId kFront = TestNode(1);
const wire::NodeId kOther = TestNode(2);

class DraftServerTest : public testing::Test {
 protected:
  explicit DraftServerTest(DraftServerOptions options = {})
      : server_(network_,
                {{.name = kModel,
                  .vocabulary = kVocabulary,
                  .kind = engine::DraftKind::kModel,
                  .source = &model_},
                 {.name = {}, .vocabulary = kVocabulary, .source = &look_up_}},
                options) {}

  static wire::BeginDraft BeginOf(uint64_t draft, std::vector<int32_t> tokens) {
    wire::BeginDraft begin;
    begin.draft = draft;
    begin.vocabulary = kVocabulary.digest;
    begin.drafter = kModel;
    begin.most = 4;
    begin.tokens = std::move(tokens);
    return begin;
  }
  void Deliver(const wire::NodeId& from, wire::Message message) {
    server_.Handle(MessageFrom(from, std::move(message)));
  }
  void Continue(uint64_t draft, uint32_t begin, std::vector<int32_t> tokens) {
    wire::FollowDraft follow;
    follow.draft = draft;
    follow.begin = begin;
    follow.tokens = std::move(tokens);
    Deliver(kFront, follow);
  }
  // The messages until there is nothing more to draft.
  std::vector<wire::DraftTokens> Drafts() {
    while (server_.has_work()) server_.Work();
    std::vector<wire::DraftTokens> drafts;
    for (const auto& [to, message] : network_.Take())
      drafts.push_back(std::get<wire::DraftTokens>(message));
    return drafts;
  }
  std::string Refusal() {
    const auto drafts = Drafts();
    return drafts.size() == 1 && drafts[0].has_failed ? drafts[0].why.message() : "";
  }

  KeepingNetwork network_;
  CountingSource model_;
  CountingSource look_up_;
  DraftServer server_;
};

TEST_F(DraftServerTest, AModelsDraftTokensArePushedAsTheyAreMade) {
  Deliver(kFront, BeginOf(5, {1, 2}));
  const auto drafts = Drafts();
  ASSERT_THAT(drafts, SizeIs(4));
  EXPECT_EQ(drafts[0].draft, 5u);
  EXPECT_EQ(drafts[0].begin, 2u);
  EXPECT_THAT(drafts[0].tokens, ElementsAre(3));
  EXPECT_THAT(drafts[3].tokens, ElementsAre(3, 4, 5, 6));
}

TEST_F(DraftServerTest, WhereTheTextAgreesOneMoreIsMadeAndOtherwiseAllOfThem) {
  Deliver(kFront, BeginOf(5, {1, 2}));
  Drafts();
  Continue(5, 2, {3});
  auto drafts = Drafts();
  ASSERT_THAT(drafts, SizeIs(1));
  EXPECT_EQ(drafts[0].begin, 3u);
  EXPECT_THAT(drafts[0].tokens, ElementsAre(4, 5, 6, 7));
  Continue(5, 3, {4, 50});
  drafts = Drafts();
  ASSERT_THAT(drafts, SizeIs(4));
  EXPECT_EQ(drafts[3].begin, 5u);
  EXPECT_THAT(drafts[3].tokens, ElementsAre(51, 52, 53, 54));
}

TEST_F(DraftServerTest, ALookUpIsAskedOnceForEachNewText) {
  wire::BeginDraft begin = BeginOf(6, {998});
  begin.drafter = {};
  Deliver(kFront, begin);
  auto drafts = Drafts();
  ASSERT_THAT(drafts, SizeIs(1));
  EXPECT_THAT(drafts[0].tokens, ElementsAre(999));
  // The server replies even without draft tokens, as it would otherwise count as silent.
  Continue(6, 1, {999});
  drafts = Drafts();
  ASSERT_THAT(drafts, SizeIs(1));
  EXPECT_THAT(drafts[0].tokens, IsEmpty());
  EXPECT_EQ(look_up_.asked(), 2u);
}

TEST_F(DraftServerTest, TheTextWithTheFewestDraftTokensAheadIsFirst) {
  Deliver(kFront, BeginOf(1, {10}));
  for (int i = 0; i < 2; ++i) server_.Work();
  Deliver(kOther, BeginOf(1, {20}));
  network_.Take();
  for (int i = 0; i < 3; ++i) server_.Work();
  std::vector<int32_t> newest;
  for (const auto& [to, message] : network_.Take())
    newest.push_back(std::get<wire::DraftTokens>(message).tokens.back());
  EXPECT_THAT(newest, ElementsAre(21, 22, 13));
}

TEST_F(DraftServerTest, WhatCannotBeDraftedForIsRefused) {
  wire::BeginDraft begin = BeginOf(1, {2});
  begin.vocabulary = {1, 1};
  Deliver(kFront, begin);
  EXPECT_THAT(Refusal(), HasSubstr("vocabulary"));
  begin = BeginOf(1, {2});
  begin.drafter = {9, 9};
  Deliver(kFront, begin);
  EXPECT_THAT(Refusal(), HasSubstr("no such drafter"));
  Deliver(kFront, BeginOf(1, {1000}));
  EXPECT_THAT(Refusal(), HasSubstr("token 1000"));
  Deliver(kFront, BeginOf(1, {-1}));
  EXPECT_THAT(Refusal(), HasSubstr("token -1"));
  begin = BeginOf(1, {2});
  begin.most = 33;
  Deliver(kFront, begin);
  EXPECT_THAT(Refusal(), HasSubstr("33 draft tokens"));
  begin = BeginOf(1, {2});
  begin.sampling.temperature = -1;
  Deliver(kFront, begin);
  EXPECT_NE(Refusal(), "");
  EXPECT_EQ(server_.text_count(), 0u);
}

TEST_F(DraftServerTest, ATextThatContinuesAfterAGapEnds) {
  Deliver(kFront, BeginOf(1, {2}));
  Drafts();
  Continue(1, 2, {3});
  EXPECT_THAT(Refusal(), HasSubstr("goes on at token 2"));
  EXPECT_EQ(server_.text_count(), 0u);
  Continue(1, 1, {3});  // the text was forgotten
  EXPECT_THAT(Drafts(), IsEmpty());
}

TEST_F(DraftServerTest, TextsEndWhenTheirFrontEndSaysSoAndWhenItIsGone) {
  for (uint64_t draft = 1; draft <= 3; ++draft) Deliver(kFront, BeginOf(draft, {2}));
  Deliver(kOther, BeginOf(1, {2}));
  wire::EndDraft end;
  end.draft = 2;
  Deliver(kFront, end);
  EXPECT_EQ(server_.text_count(), 3u);
  server_.Handle(DownOf(kFront));
  EXPECT_EQ(server_.text_count(), 1u);
  EXPECT_THAT(Drafts(), SizeIs(4));
}

class LittleRoom : public DraftServerTest {
 protected:
  LittleRoom() : DraftServerTest({.max_texts = 3, .max_texts_of_one = 2, .max_tokens = 10}) {}
};

TEST_F(LittleRoom, WhatIsBeyondIsRefusedUntilOthersAreIdle) {
  Deliver(kFront, BeginOf(1, {1}));
  Deliver(kFront, BeginOf(2, {1}));
  Drafts();
  Deliver(kFront, BeginOf(3, {1}));
  EXPECT_THAT(Refusal(), HasSubstr("2 texts"));
  Deliver(kOther, BeginOf(1, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_THAT(Refusal(), HasSubstr("2 tokens"));
  Continue(2, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_THAT(Refusal(), HasSubstr("2 tokens"));
  EXPECT_EQ(server_.text_count(), 1u);
  Deliver(kFront, BeginOf(2, {1}));
  Deliver(kOther, BeginOf(1, {1}));
  Drafts();
  Deliver(TestNode(3), BeginOf(1, {1}));
  EXPECT_THAT(Refusal(), HasSubstr("3 texts"));
  network_.virtual_clock.AdvanceBy(120 * kNsPerSecond);
  Deliver(TestNode(3), BeginOf(1, {1}));
  EXPECT_THAT(Drafts(), SizeIs(4));
  EXPECT_EQ(server_.text_count(), 1u);
}

}  // namespace
}  // namespace aster::drafting
