// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "drafting/remote_proposers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>

#include "base/random.h"
#include "drafting/draft_server.h"
#include "drafting/network_for_test.h"
#include "engine/request.h"

namespace aster::drafting {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Vocabulary kTokens{.digest = {7, 8}, .size = 1000};
const wire::NodeId kNode = TestNode(1);
const wire::NodeId kSecond = TestNode(2);
// The number of the first answer for the first drafter; the second drafter's is the next one.
constexpr uint64_t kFirst = kMostDrafters;

class RemoteProposersTest : public testing::Test {
 protected:
  // Drafters of these nodes.
  void Make(const std::vector<wire::NodeId>& nodes, engine::ProposerSource* fallback = nullptr) {
    std::vector<RemoteDrafter> drafters;
    for (const wire::NodeId& node : nodes) {
      drafters.push_back({.node = node,
                          .name = nodes.size() == 1 ? "comet" : "comet on " + node.ToText(),
                          .addresses = {},
                          .drafter = {1, 2}});
    }
    source_.emplace(
        &network_, std::move(drafters),
        RemoteOptions{.vocabulary = kTokens,
                      .fallback = fallback,
                      .warn = [this](const std::string& text) { said_.push_back(text); },
                      .found = [this] { return std::exchange(found_, {}); }});
  }
  std::unique_ptr<engine::Proposer> Answer() {
    engine::Request request;
    request.draft = {.kind = engine::DraftKind::kModel, .most = 4};
    return source_->Make(request).value();
  }
  static std::vector<int32_t> Propose(engine::Proposer& answer, std::vector<int32_t> text,
                                      uint32_t most = 4) {
    std::vector<int32_t> drafts;
    EXPECT_TRUE(answer.Propose(text, most, drafts).ok());
    return drafts;
  }
  static void Follow(engine::Proposer& answer, const std::vector<int32_t>& text) {
    answer.Follow(text, 0, {});
  }
  bool Draft(uint64_t draft, uint32_t begin, std::vector<int32_t> tokens,
             const wire::NodeId& from = kNode) {
    wire::DraftTokens drafts;
    drafts.draft = draft;
    drafts.begin = begin;
    drafts.tokens = std::move(tokens);
    return source_->Handle(MessageFrom(from, drafts));
  }
  void Refuse(uint64_t draft, Error why) {
    wire::DraftTokens drafts;
    drafts.draft = draft;
    drafts.has_failed = true;
    drafts.why = std::move(why);
    source_->Handle(MessageFrom(kNode, drafts));
  }
  // How often a message of a kind was sent since the last call.
  template <typename T>
  size_t Sent() {
    const auto sent = network_.Take();
    return static_cast<size_t>(std::ranges::count_if(
        sent, [](const auto& each) { return std::holds_alternative<T>(each.second); }));
  }

  // The drafters of `count` nodes are found, from number `first` on.
  void Look(uint64_t first, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      found_.push_back(
          {.node = TestNode(first + i), .name = "one", .addresses = {}, .drafter = {1, 2}});
    }
    Answer();
  }
  // The texts that were begun on drafters since the last call.
  using Begin = std::pair<wire::NodeId, uint64_t>;
  std::vector<Begin> Begun() {
    std::vector<Begin> begun;
    for (const auto& [node, message] : network_.Take()) {
      if (const auto* begin = std::get_if<wire::BeginDraft>(&message)) {
        begun.emplace_back(node, begin->draft);
      }
    }
    return begun;
  }

  KeepingNetwork network_;
  std::vector<std::string> said_;
  std::vector<RemoteDrafter> found_;
  std::optional<RemoteProposers> source_;
};

TEST_F(RemoteProposersTest, TheTextIsPushedAndNothingWaitsForDraftTokens) {
  Make({kNode});
  const auto answer = Answer();
  Follow(*answer, {1, 2});
  ASSERT_THAT(network_.sent, SizeIs(1));
  const auto begin = std::get<wire::BeginDraft>(network_.sent[0].second);
  EXPECT_THAT(begin.tokens, ElementsAre(1, 2));
  EXPECT_EQ(begin.vocabulary, kTokens.digest);
  EXPECT_EQ(begin.most, 16u);
  EXPECT_THAT(Propose(*answer, {1, 2}), IsEmpty());
  EXPECT_TRUE(Draft(begin.draft, 2, {3, 4, 5}));
  EXPECT_THAT(Propose(*answer, {1, 2}), ElementsAre(3, 4, 5));
  EXPECT_THAT(Propose(*answer, {1, 2}, 2), ElementsAre(3, 4));
  // After draft tokens that are in flight, if they agree.
  EXPECT_THAT(Propose(*answer, {1, 2, 3}), ElementsAre(4, 5));
  EXPECT_THAT(Propose(*answer, {1, 2, 9}), IsEmpty());
  network_.Take();
  Follow(*answer, {1, 2, 3});
  ASSERT_THAT(network_.sent, SizeIs(1));
  const auto follow = std::get<wire::FollowDraft>(network_.sent[0].second);
  EXPECT_EQ(follow.begin, 2u);
  EXPECT_THAT(follow.tokens, ElementsAre(3));
  EXPECT_THAT(Propose(*answer, {1, 2, 3}), ElementsAre(4, 5));
  Follow(*answer, {1, 2, 3, 8});
  EXPECT_THAT(Propose(*answer, {1, 2, 3, 8}), IsEmpty());
  const auto counts = source_->counts();
  EXPECT_EQ(counts[0].proposed, 3u);
  EXPECT_EQ(counts[0].accepted, 1u);
  EXPECT_EQ(counts[0].cancelled, 2u);
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(RemoteProposersTest, DraftTokensThatAreLateAreOfUseAsFarAsTheyAgree) {
  Make({kNode});
  const auto answer = Answer();
  Follow(*answer, {1, 2});
  Follow(*answer, {1, 2, 3});
  Draft(kFirst, 2, {3, 4, 5});
  EXPECT_THAT(Propose(*answer, {1, 2, 3}), ElementsAre(4, 5));
  Draft(kFirst, 2, {9, 4, 5});  // for a text that continued differently
  EXPECT_THAT(Propose(*answer, {1, 2, 3}), ElementsAre(4, 5));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(RemoteProposersTest, InvalidDraftTokensAreReportedOnceAndTheDrafterIsLeftOut) {
  for (const std::vector<int32_t>& tokens : {std::vector<int32_t>{1000}, {-1}, {3, 1 << 30}}) {
    Make({kNode});
    said_.clear();
    const auto answer = Answer();
    Follow(*answer, {1, 2});
    Draft(kFirst, 2, {3});
    Draft(kFirst, 2, tokens);
    ASSERT_THAT(said_, SizeIs(1));
    EXPECT_THAT(said_[0], HasSubstr("of a vocabulary of 1000"));
    EXPECT_THAT(Propose(*answer, {1, 2}), IsEmpty());
    network_.Take();
    // It gets no messages any more.
    Draft(kFirst, 2, tokens);
    Follow(*answer, {1, 2, 3});
    network_.virtual_clock.AdvanceBy(3600 * kNsPerSecond);
    const auto next = Answer();
    Follow(*next, {1});
    EXPECT_THAT(said_, SizeIs(1));
    EXPECT_EQ(Sent<wire::FollowDraft>() + Sent<wire::BeginDraft>(), 0u);
    EXPECT_TRUE(source_->counts()[0].is_left_out);
  }
}

TEST_F(RemoteProposersTest, ATextThatWasNotSentYetCannotBeDraftedFor) {
  Make({kNode});
  const auto answer = Answer();
  Follow(*answer, {1, 2});
  Draft(kFirst, 3, {3});
  ASSERT_THAT(said_, SizeIs(1));
  EXPECT_THAT(said_[0], HasSubstr("behind token 3 of a text of 2"));
}

TEST_F(RemoteProposersTest, AFloodIsEnded) {
  Make({kNode});
  const auto answer = Answer();
  Follow(*answer, {1, 2});
  for (int i = 0; i < 1000 && said_.empty(); ++i) Draft(kFirst, 2, {3});
  ASSERT_THAT(said_, SizeIs(1));
  EXPECT_THAT(said_[0], HasSubstr("more than it is asked for"));
}

TEST_F(RemoteProposersTest, AFloodForUnknownAnswersIsEnded) {
  Make({kNode});
  const auto answer = Answer();
  Follow(*answer, {1, 2});
  for (uint64_t i = 0; i < 1000 && said_.empty(); ++i)
    Draft(1000 * kFirst + kMostDrafters * i, 2, {3});
  EXPECT_THAT(said_, SizeIs(1));
}

TEST_F(RemoteProposersTest, DraftTokensOfOtherNodesAreIgnored) {
  Make({kNode, kSecond});
  const auto answer = Answer();
  Follow(*answer, {1, 2});
  Draft(kFirst, 2, {3}, TestNode(5));
  EXPECT_THAT(Propose(*answer, {1, 2}), IsEmpty());
  EXPECT_THAT(said_, IsEmpty());
  // The answer's number is the first drafter's.
  Draft(kFirst, 2, {3}, kSecond);
  EXPECT_THAT(Propose(*answer, {1, 2}), IsEmpty());
  ASSERT_THAT(said_, SizeIs(1));
  EXPECT_THAT(said_[0], HasSubstr("does not follow"));
}

TEST_F(RemoteProposersTest, OneThatIsSilentIsLeftOutForAWhile) {
  Make({kNode});
  const auto answer = Answer();
  Follow(*answer, {1});
  network_.virtual_clock.AdvanceBy(29 * kNsPerSecond);
  Follow(*answer, {1, 2});
  EXPECT_THAT(said_, IsEmpty());
  network_.virtual_clock.AdvanceBy(2 * kNsPerSecond);
  Follow(*answer, {1, 2, 3});
  ASSERT_THAT(said_, SizeIs(1));
  EXPECT_THAT(said_[0], HasSubstr("not replied for 31 s"));
  network_.virtual_clock.AdvanceBy(11 * kNsPerSecond);
  network_.Take();
  const auto next = Answer();
  Follow(*next, {4});
  EXPECT_EQ(Sent<wire::BeginDraft>(), 1u);
}

TEST_F(RemoteProposersTest, NoDrafterIsSilentBetweenAnswers) {
  Make({kNode});
  Follow(*Answer(), {1});
  network_.virtual_clock.AdvanceBy(3600 * kNsPerSecond);
  Follow(*Answer(), {1});
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(RemoteProposersTest, OneThatSaysThatItHasNothingIsNotSilent) {
  Make({kNode});
  const auto answer = Answer();
  Follow(*answer, {1});
  for (int32_t i = 1; i < 10; ++i) {
    Draft(kFirst, 1, {});
    network_.virtual_clock.AdvanceBy(29 * kNsPerSecond);
    Follow(*answer, std::vector<int32_t>(static_cast<size_t>(i) + 1, 1));
  }
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(RemoteProposersTest, OneThatIsGoneIsAskedAgainLater) {
  Make({kNode});
  const auto answer = Answer();
  Follow(*answer, {1});
  Draft(kFirst, 1, {2, 3});
  source_->Handle(DownOf(kNode));
  EXPECT_THAT(Propose(*answer, {1}), IsEmpty());
  ASSERT_THAT(said_, SizeIs(1));
  EXPECT_THAT(said_[0], HasSubstr("switched off"));
  network_.Take();
  Follow(*answer, {1, 2});
  Follow(*Answer(), {1});
  EXPECT_THAT(network_.Take(), IsEmpty());
  network_.virtual_clock.AdvanceBy(20 * kNsPerSecond);
  const auto next = Answer();
  Follow(*next, {1});
  EXPECT_EQ(Sent<wire::BeginDraft>(), 1u);
  // The warning is shown only once.
  source_->Handle(DownOf(kNode));
  EXPECT_THAT(said_, SizeIs(1));
}

TEST_F(RemoteProposersTest, OneThatCannotBeReachedOrHasAnotherVocabulary) {
  Make({kNode});
  network_.refusal = FailedPrecondition("it speaks an older protocol");
  auto answer = Answer();
  Follow(*answer, {1});
  Follow(*answer, {1, 2});
  EXPECT_THAT(said_, ElementsAre("comet is not used any more: it speaks an older protocol"));
  network_.refusal = Ok();
  answer.reset();
  Make({kNode});
  const auto next = Answer();
  Follow(*next, {1});
  Refuse(kFirst, FailedPrecondition("its vocabulary is another one"));
  EXPECT_THAT(said_.back(), HasSubstr("vocabulary is another one"));
}

TEST_F(RemoteProposersTest, OneThatHasNoRoomIsAskedForTheNextAnswer) {
  Make({kNode});
  const auto answer = Answer();
  Follow(*answer, {1});
  Refuse(kFirst, ResourceExhausted("it follows 256 texts already"));
  network_.Take();
  Follow(*answer, {1, 2});
  EXPECT_THAT(network_.Take(), IsEmpty());
  const auto next = Answer();
  Follow(*next, {1});
  EXPECT_EQ(Sent<wire::BeginDraft>(), 1u);
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(RemoteProposersTest, OneThatItsNodeDoesNotHaveNowIsAskedForLater) {
  Make({kNode});
  const auto answer = Answer();
  Follow(*answer, {1});
  Refuse(kFirst, NotFound("no such drafter is here"));
  ASSERT_THAT(said_, SizeIs(1));
  EXPECT_THAT(said_[0], HasSubstr("no such drafter"));
  EXPECT_TRUE(source_->counts()[0].is_left_out);
  network_.Take();
  Follow(*Answer(), {1});
  EXPECT_THAT(network_.Take(), IsEmpty());
  network_.virtual_clock.AdvanceBy(20 * kNsPerSecond);
  const auto next = Answer();
  Follow(*next, {1});
  EXPECT_EQ(Sent<wire::BeginDraft>(), 1u);
  EXPECT_FALSE(source_->counts()[0].is_left_out);
}

TEST_F(RemoteProposersTest, TheDrafterWithTheHigherAcceptanceRateComesFirst) {
  Make({kNode, kSecond});
  const auto answer = Answer();
  std::vector<int32_t> text{1};
  Follow(*answer, text);
  for (int32_t token = 2; token < 10; ++token) {
    const auto length = static_cast<uint32_t>(text.size());
    Draft(kFirst, length, {500});                 // the first: always wrong
    Draft(kFirst + 1, length, {token}, kSecond);  // the second: always right
    text.push_back(token);
    Follow(*answer, text);
  }
  Draft(kFirst, static_cast<uint32_t>(text.size()), {500});
  Draft(kFirst + 1, static_cast<uint32_t>(text.size()), {10}, kSecond);
  EXPECT_THAT(Propose(*answer, text), ElementsAre(10));
  // If it has no draft tokens, those of the other one are used.
  Draft(kFirst + 1, static_cast<uint32_t>(text.size()), {}, kSecond);
  EXPECT_THAT(Propose(*answer, text), ElementsAre(500));
}

TEST_F(RemoteProposersTest, OneThatIsFoundLaterIsUsedForTheNextAnswer) {
  Make({});
  const auto first = Answer();
  Follow(*first, {1});
  found_ = {{.node = kNode, .name = "comet", .addresses = {"lap:7424"}, .drafter = {1, 2}}};
  const auto second = Answer();
  Follow(*first, {1, 2});
  Follow(*second, {1, 2});
  EXPECT_EQ(Sent<wire::FollowDraft>(), 0u);
  Draft(2 * kMostDrafters, 2, {3});
  EXPECT_THAT(Propose(*second, {1, 2}), ElementsAre(3));
  EXPECT_THAT(Propose(*first, {1, 2}), IsEmpty());
  // Found again, it is the same drafter, even with another address.
  for (const char* const address : {"lap:7424", "lap:8000"}) {
    found_ = {{.node = kNode, .name = "comet", .addresses = {address}, .drafter = {1, 2}}};
    Follow(*Answer(), {1});
    EXPECT_THAT(source_->counts(), SizeIs(1));
    EXPECT_EQ(Sent<wire::BeginDraft>(), 1u);
  }
  // The drafter does not know the first answer.
  EXPECT_THAT(said_, IsEmpty());
  Draft(kFirst, 1, {2});
  EXPECT_THAT(said_, SizeIs(1));
  EXPECT_TRUE(source_->counts()[0].is_left_out);
}

TEST_F(RemoteProposersTest, NoMoreAreUsedThanHaveNumbers) {
  Make({});
  for (uint64_t i = 0; i < 2 * kMostDrafters; ++i) {
    found_.push_back({.node = TestNode(i), .name = "one", .addresses = {}, .drafter = {1, 2}});
  }
  Follow(*Answer(), {1});
  EXPECT_THAT(source_->counts(), SizeIs(kMostDrafters));
  EXPECT_EQ(Sent<wire::BeginDraft>(), kMostDrafters);
}

// A server runs for long, and machines come and go.
TEST_F(RemoteProposersTest, OneThatIsNewTakesThePlaceOfOneThatIsGone) {
  Make({kNode});
  const auto first = Answer();
  Follow(*first, {1});
  Draft(kFirst, 1, {2, 3});
  Follow(*first, {1, 2});
  uint64_t proposed = 2;
  for (uint64_t day = 1; day < 20; ++day) {
    // One that is rarely missed may be busy.
    for (int look = 0; look < 4; ++look) Look(100 * day, kMostDrafters);
    network_.Take();
    const auto answer = Answer();
    Follow(*answer, {1});
    const auto begun = Begun();
    EXPECT_THAT(begun, SizeIs(kMostDrafters));
    for (const auto& [node, draft] : begun) {
      EXPECT_GE(node.value.low, 100 * day);
      Draft(draft, 1, {7}, node);
    }
    proposed += begun.size();
    EXPECT_THAT(Propose(*answer, {1}), ElementsAre(7));
  }
  EXPECT_THAT(said_, IsEmpty());
  // All counts are kept, but only for as many drafters as are used.
  const auto counts = source_->counts();
  ASSERT_THAT(counts, SizeIs(kMostDrafters + 1));
  uint64_t all = 0;
  for (const RemoteDraftCounts& of : counts) all += of.proposed;
  EXPECT_EQ(all, proposed);
  EXPECT_EQ(counts.back().accepted, 1u);
  EXPECT_TRUE(counts.back().is_left_out);
}

TEST_F(RemoteProposersTest, OneThatIsThereKeepsItsPlace) {
  Make({});
  Look(100, kMostDrafters);
  for (int look = 0; look < 10; ++look) Look(100, 2 * kMostDrafters);
  network_.Take();
  // A drafter that is missed twice may be busy.
  for (int look = 0; look < 2; ++look) Look(200, kMostDrafters);
  const auto answer = Answer();
  Follow(*answer, {1});
  for (const auto& [node, draft] : Begun()) EXPECT_LT(node.value.low, 100 + kMostDrafters);
  // A disconnected drafter is replaced without being missed first.
  source_->Handle(DownOf(TestNode(105)));
  Look(200, 1);
  Follow(*Answer(), {1});
  const auto begun = Begun();
  EXPECT_THAT(begun, SizeIs(kMostDrafters));
  EXPECT_EQ(std::ranges::count(begun, TestNode(105), &Begin::first), 0);
  EXPECT_EQ(std::ranges::count(begun, TestNode(200), &Begin::first), 1);
}

TEST_F(RemoteProposersTest, AReplacedDrafterThatSentInvalidTokensIsNotUsedAgain) {
  Make({});
  Look(100, kMostDrafters);
  {
    const auto answer = Answer();
    Follow(*answer, {1});
    for (const auto& [node, draft] : Begun()) {
      if (node == TestNode(105)) Draft(draft, 1, {-1}, node);
    }
  }
  ASSERT_THAT(said_, SizeIs(1));
  for (int look = 0; look < 5; ++look) Look(200, kMostDrafters);
  for (int look = 0; look < 5; ++look) Look(100, kMostDrafters);
  network_.Take();
  Follow(*Answer(), {1});
  const auto begun = Begun();
  EXPECT_THAT(begun, SizeIs(kMostDrafters));
  EXPECT_EQ(std::ranges::count(begun, TestNode(105), &Begin::first), 0);
  EXPECT_EQ(std::ranges::count(begun, TestNode(106), &Begin::first), 1);
  EXPECT_THAT(said_, SizeIs(1));
}

TEST_F(RemoteProposersTest, AnAnswerGoesOnWithoutOneThatHasLostItsPlace) {
  Make({});
  // A node has two drafters, of which it keeps one.
  Look(100, kMostDrafters - 1);
  found_ = {{.node = TestNode(100), .name = "other", .addresses = {}, .drafter = {3, 4}}};
  Answer();
  const auto answer = Answer();
  network_.Take();
  Follow(*answer, {1});
  const auto begun = Begun();
  ASSERT_THAT(begun, SizeIs(kMostDrafters));
  EXPECT_EQ(begun.back().first, TestNode(100));
  const uint64_t lost = begun.back().second;
  Draft(lost, 1, {2, 3}, TestNode(100));
  EXPECT_THAT(Propose(*answer, {1}), ElementsAre(2, 3));
  for (int look = 0; look < 4; ++look) Look(100, kMostDrafters);
  EXPECT_EQ(Sent<wire::EndDraft>(), 1u);
  EXPECT_THAT(Propose(*answer, {1}), IsEmpty());
  // Its late messages count against neither itself nor the drafter that has its place now.
  Draft(lost, 1, {2, 3}, TestNode(100));
  EXPECT_THAT(Propose(*answer, {1}), IsEmpty());
  EXPECT_THAT(said_, IsEmpty());
  Draft(begun.front().second, 1, {5}, TestNode(100));
  EXPECT_THAT(Propose(*answer, {1}), ElementsAre(5));
  Follow(*answer, {1, 5});
  EXPECT_EQ(source_->counts().back().cancelled, 2u);
  // Late messages are not tolerated for ever.
  for (int i = 0; i < 1000 && said_.empty(); ++i) Draft(lost, 1, {2, 3}, TestNode(100));
  EXPECT_THAT(said_, SizeIs(1));
}

TEST_F(RemoteProposersTest, WithoutRemoteDraftTokensTheLocalDrafterIsUsed) {
  CountingSource look_up;
  Make({kNode}, &look_up);
  auto answer = Answer();
  Follow(*answer, {1});
  EXPECT_THAT(Propose(*answer, {1}, 2), ElementsAre(2, 3));
  Draft(kFirst, 1, {7});
  EXPECT_THAT(Propose(*answer, {1}, 2), ElementsAre(7));
  answer.reset();
  Make({}, &look_up);
  EXPECT_THAT(Propose(*Answer(), {1}, 2), ElementsAre(2, 3));
}

TEST_F(RemoteProposersTest, TheEndOfAnAnswerIsSent) {
  Make({kNode});
  Follow(*Answer(), {1});
  EXPECT_EQ(Sent<wire::EndDraft>(), 1u);
  // Late draft tokens are ignored, and are no error.
  Draft(kFirst, 1, {2});
  EXPECT_THAT(said_, IsEmpty());
}

// A front end and a node's drafters, whose messages come in order, some of them late. Some draft
// tokens are right.
TEST_F(RemoteProposersTest, WithADraftServerWhateverIsInFlight) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    Make({kNode});
    KeepingNetwork at_node;
    CountingSource model;
    DraftServer server(at_node, {{.name = {1, 2},
                                  .vocabulary = kTokens,
                                  .kind = engine::DraftKind::kModel,
                                  .source = &model}});
    const auto answer = Answer();
    std::vector<int32_t> text{0};
    uint64_t right = 0, proposed = 0;
    for (int step = 0; step < 300; ++step) {
      Follow(*answer, text);
      for (auto& [to, message] : network_.Take()) server.Handle(MessageFrom(kNode, message));
      for (uint64_t i = random.NextBelow(6); i > 0; --i) server.Work();
      for (auto& [to, message] : at_node.Take()) source_->Handle(MessageFrom(kNode, message));
      const auto drafts = Propose(*answer, text, 3);
      const int32_t next =
          random.NextBelow(4) == 0 ? static_cast<int32_t>(random.NextBelow(100)) : text.back() + 1;
      if (!drafts.empty()) {
        ++proposed;
        right += drafts.front() == next ? 1 : 0;
        // The draft token must be the drafter's for exactly this text.
        EXPECT_EQ(drafts.front(), text.back() + 1);
      }
      text.push_back(std::min(next, 900));
    }
    EXPECT_GT(proposed, 100u);
    EXPECT_GT(right, proposed / 2);
    const RemoteDraftCounts counts = source_->counts()[0];
    EXPECT_GE(counts.proposed, counts.accepted + counts.cancelled);
    EXPECT_THAT(said_, IsEmpty());
  }
}

}  // namespace
}  // namespace aster::drafting
