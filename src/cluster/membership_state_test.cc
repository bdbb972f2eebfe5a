// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/membership_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace aster::cluster {
namespace {

NodeId Id(uint64_t number) { return {{.low = number, .high = 7}}; }

Member Named(uint64_t number, uint64_t incarnation = 1) {
  Member member;
  member.node = Id(number);
  member.name = "n" + std::to_string(number);
  member.control_addresses = {"10.0.0." + std::to_string(number) + ":7340"};
  member.incarnation = incarnation;
  return member;
}

std::vector<Member> Others(uint64_t count) {
  std::vector<Member> members;
  for (uint64_t i = 2; i < 2 + count; ++i) members.push_back(Named(i));
  return members;
}

MembershipState Make() { return MembershipState(Named(1), {}, 1, 0); }

MemberState StateOf(const MembershipState& state, uint64_t number) {
  return state.others().at(Id(number)).member.state;
}

TEST(MembershipState, ASilentNodeIsSuspectAndThenDead) {
  MembershipState state = Make();
  ASSERT_TRUE(state.Merge(std::vector{Named(2)}, 0).ok());
  state.Tick(3 * kNsPerSecond - 1);
  EXPECT_EQ(StateOf(state, 2), MemberState::kAlive);
  state.Tick(3 * kNsPerSecond);
  EXPECT_EQ(StateOf(state, 2), MemberState::kSuspect);
  state.Tick(5 * kNsPerSecond);
  EXPECT_EQ(StateOf(state, 2), MemberState::kDead);
}

// Random choice alone may miss a node for seconds.
TEST(MembershipState, ASilentNodeIsAskedItselfBeforeItIsSuspected) {
  MembershipState state = Make();
  std::vector<Member> members;
  for (uint64_t i = 2; i < 8; ++i) members.push_back(Named(i));
  ASSERT_TRUE(state.Merge(members, 0).ok());
  int asked = 0;
  for (int64_t now_ns = 0; now_ns < 3 * kNsPerSecond; now_ns += 500 * kNsPerMs) {
    // All but node 2 are heard all the time.
    for (Member& member : members) member.heartbeat += member.node == Id(2) ? 0 : 1;
    ASSERT_TRUE(state.Merge(members, now_ns).ok());
    for (const Contact& contact : state.Tick(now_ns))
      asked += now_ns >= 1500 * kNsPerMs && contact.node == Id(2);
  }
  EXPECT_GE(asked, 1);
  EXPECT_EQ(StateOf(state, 2), MemberState::kAlive);
  // Others are asked about it once, and their news of it counts.
  EXPECT_GE(state.Tick(3 * kNsPerSecond).size(), 3u);
  ASSERT_EQ(StateOf(state, 2), MemberState::kSuspect);
  EXPECT_LE(state.Tick(3500 * kNsPerMs).size(), 2u);
  members.front().heartbeat += 1;
  ASSERT_TRUE(state.Merge(std::vector{members.front()}, 3600 * kNsPerMs).ok());
  EXPECT_EQ(StateOf(state, 2), MemberState::kAlive);
}

TEST(MembershipState, HeartbeatsTakeSuspicionAndDeathAway) {
  MembershipState state = Make();
  ASSERT_TRUE(state.Merge(std::vector{Named(2)}, 0).ok());
  state.Tick(4 * kNsPerSecond);
  Member beat = Named(2);
  beat.heartbeat = 5;
  ASSERT_TRUE(state.Merge(std::vector{beat}, 5 * kNsPerSecond).ok());
  EXPECT_EQ(StateOf(state, 2), MemberState::kAlive);
  state.Tick(9 * kNsPerSecond);
  state.Tick(13 * kNsPerSecond);
  ASSERT_EQ(StateOf(state, 2), MemberState::kDead);
  ASSERT_TRUE(state.Merge(std::vector{beat}, 14 * kNsPerSecond).ok());
  EXPECT_EQ(StateOf(state, 2), MemberState::kDead);  // no news
  beat.heartbeat = 1000;
  ASSERT_TRUE(state.Merge(std::vector{beat}, 14 * kNsPerSecond).ok());
  EXPECT_EQ(StateOf(state, 2), MemberState::kAlive);
}

// A member may claim falsely that another one is silent.
TEST(MembershipState, NoMemberIsRemovedBySuspicionAlone) {
  MembershipState state = Make();
  ASSERT_TRUE(state.Merge(std::vector{Named(2)}, 0).ok());
  for (const MemberState judged : {MemberState::kDead, MemberState::kSuspect}) {
    Member record = Named(2);
    record.heartbeat = judged == MemberState::kDead ? 1000 : 0;
    record.state = judged;
    EXPECT_FALSE(state.IsNews(record));
    ASSERT_TRUE(state.Merge(std::vector{record}, 1).ok());
    EXPECT_EQ(StateOf(state, 2), MemberState::kAlive);
  }
  Member beat = Named(2);
  beat.heartbeat = 7;
  EXPECT_TRUE(state.IsNews(beat));  // the lie with heartbeat 1000 has not hidden it
}

TEST(MembershipState, ContradictsItsOwnDeath) {
  MembershipState state = Make();
  Member dead = Named(1, 41);
  dead.state = MemberState::kDead;
  ASSERT_TRUE(state.Merge(std::vector{dead}, 0).ok());
  EXPECT_EQ(state.self().incarnation, 42u);
  EXPECT_EQ(state.self().state, MemberState::kAlive);
}

TEST(MembershipState, ContradictsFalseRecordsOfThisLifeAtIntervals) {
  MembershipState state = Make();
  for (int i = 0; i < 100; ++i) {
    Member dead = Named(1, state.self().incarnation);
    dead.state = MemberState::kDead;
    ASSERT_TRUE(state.Merge(std::vector{dead}, 1).ok());
  }
  EXPECT_EQ(state.self().incarnation, 2u);
}

TEST(MembershipState, ARestartWithinTheSameSecondGoesAboveTheOldOne) {
  MembershipState state = Make();
  Member earlier = Named(1, 1);
  earlier.heartbeat = 50;
  ASSERT_TRUE(state.Merge(std::vector{earlier}, 0).ok());
  EXPECT_EQ(state.self().incarnation, 2u);
}

TEST(MembershipState, ARestartWithALowerIncarnationGoesAboveTheOldOne) {
  MembershipState state = Make();
  ASSERT_TRUE(state.Merge(std::vector{Named(1, 9)}, 0).ok());
  EXPECT_EQ(state.self().incarnation, 10u);
}

// A copied folder: both processes keep exceeding each other's incarnation.
void ExpectThatRivalsAreFound(uint64_t incarnation_of_other) {
  MembershipState one = Make();
  Member elsewhere = Named(1);
  elsewhere.control_addresses = {"10.0.0.9:7340"};
  elsewhere.incarnation = incarnation_of_other;
  MembershipState other(elsewhere, {}, 2, 0);
  std::optional<std::string> of_one, of_other;
  for (int64_t now_ns = 0; now_ns < 10 * kNsPerSecond && !(of_one && of_other);
       now_ns += 500 * kNsPerMs) {
    one.Tick(now_ns);
    other.Tick(now_ns);
    ASSERT_TRUE(one.Merge(other.Records(), now_ns).ok());
    ASSERT_TRUE(other.Merge(one.Records(), now_ns).ok());
    if (auto found = one.TakeRival()) of_one = found;
    if (auto found = other.TakeRival()) of_other = found;
  }
  EXPECT_EQ(of_one, "10.0.0.9:7340");
  EXPECT_EQ(of_other, "10.0.0.1:7340");
  EXPECT_EQ(one.TakeRival(), std::nullopt);
}

TEST(MembershipState, ASecondProcessWithItsIdentityIsFound) { ExpectThatRivalsAreFound(1000); }

// In this case the heartbeats of both stay the same.
TEST(MembershipState, ASecondProcessThatBeganInTheSameSecondIsFound) {
  ExpectThatRivalsAreFound(Make().self().incarnation);
}

// Several nodes may report an earlier incarnation, with its former address, until they get the new
// one.
TEST(MembershipState, AnEarlierLifeIsNoSecondProcess) {
  MembershipState state = Make();
  Member earlier = Named(1, 50);
  earlier.control_addresses = {"10.0.0.9:7340"};
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(state.Merge(std::vector{earlier}, i * kNsPerSecond).ok());
  EXPECT_EQ(state.TakeRival(), std::nullopt);
  // A record with the same address is no rival either, such as this node's own after its clock went
  // back.
  for (uint64_t i = 0; i < 20; ++i)
    ASSERT_TRUE(state.Merge(std::vector{Named(1, 100 + 2 * i)}, 0).ok());
  EXPECT_EQ(state.TakeRival(), std::nullopt);
}

TEST(MembershipState, GoodbyeIsNotTakenBackByHeartbeats) {
  MembershipState state = Make();
  Member left = Named(2);
  ASSERT_TRUE(state.Merge(std::vector{left}, 0).ok());
  left.state = MemberState::kLeft;
  ASSERT_TRUE(state.Merge(std::vector{left}, 0).ok());
  left.state = MemberState::kAlive;
  left.heartbeat = 99;
  ASSERT_TRUE(state.Merge(std::vector{left}, 0).ok());
  EXPECT_EQ(StateOf(state, 2), MemberState::kLeft);
}

TEST(MembershipState, WhatIsForgottenStaysForgotten) {
  MembershipState state = Make();
  Member left = Named(2);
  ASSERT_TRUE(state.Merge(std::vector{left}, 0).ok());
  left.state = MemberState::kLeft;
  ASSERT_TRUE(state.Merge(std::vector{left}, 0).ok());
  state.Tick(25 * 3600 * kNsPerSecond);
  EXPECT_TRUE(state.others().empty());
  ASSERT_TRUE(state.Merge(std::vector{left}, 25 * 3600 * kNsPerSecond).ok());
  EXPECT_TRUE(state.others().empty());
}

TEST(MembershipState, RevokedNodesStayRemoved) {
  MembershipState state = Make();
  ASSERT_TRUE(state.Merge(std::vector{Named(2)}, 0).ok());
  state.Revoke(Id(2));
  EXPECT_TRUE(state.others().empty());
  ASSERT_TRUE(state.Merge(std::vector{Named(2, 100)}, 0).ok());
  EXPECT_TRUE(state.others().empty());
}

TEST(MembershipState, RefusesRecordsThatCannotBeAndTakesTheOthers) {
  MembershipState state = Make();
  Member nameless = Named(2);
  nameless.name = "a b\x1b[31m";
  Member lost = Named(3);
  lost.control_addresses = {"nowhere"};
  Member endless = Named(4, ~uint64_t{0});
  Member many = Named(5);
  many.data_addresses.assign(kMaxAddresses + 1, "h:1");
  EXPECT_FALSE(state.Merge(std::vector{nameless, lost, endless, many, Named(6)}, 0).ok());
  EXPECT_EQ(state.others().size(), 1u);
  EXPECT_TRUE(state.others().contains(Id(6)));
}

TEST(MembershipState, IsBoundedAndKeepsTheLiving) {
  MembershipOptions options;
  options.max_members = 4;
  MembershipState state(Named(1), options, 1, 0);
  std::vector<Member> members;
  for (uint64_t i = 2; i < 100; ++i) members.push_back(Named(i));
  ASSERT_TRUE(state.Merge(members, 0).ok());
  EXPECT_EQ(state.others().size(), 3u);
  Member left = Named(2, 2);
  left.state = MemberState::kLeft;
  ASSERT_TRUE(state.Merge(std::vector{left}, 1).ok());
  ASSERT_TRUE(state.Merge(std::vector{Named(50)}, 2).ok());
  EXPECT_EQ(state.others().size(), 3u);
  EXPECT_TRUE(state.others().contains(Id(50)));
  EXPECT_FALSE(state.others().contains(Id(2)));
}

TEST(MembershipState, TriesSeedsWhileItIsAlone) {
  MembershipState state = Make();
  EXPECT_TRUE(state.Tick(0).empty());
  state.AddSeed("10.0.0.9:7340");
  const auto contacts = state.Tick(1);
  ASSERT_EQ(contacts.size(), 1u);
  EXPECT_FALSE(contacts[0].node);
  EXPECT_THAT(contacts[0].addresses, testing::ElementsAre("10.0.0.9:7340"));
}

class ManyMembers : public testing::Test {
 protected:
  static constexpr uint64_t kCount = 200;
  static constexpr int64_t kLaterNs = 100 * kNsPerSecond;  // no news is recent any more

  ManyMembers() { EXPECT_TRUE(state_.Merge(Others(kCount), 0).ok()); }

  static bool Asks(const std::vector<Contact>& contacts, uint64_t number) {
    return std::ranges::count(contacts, std::optional(Id(number)), &Contact::node) > 0;
  }

  MembershipState state_ = Make();
};

TEST_F(ManyMembers, GossipDoesNotGrowWithTheNumberOfMembers) {
  EXPECT_THAT(state_.MakeGossip(kLaterNs).members, testing::SizeIs(1));
  Member moved = Named(9);
  moved.heartbeat = 1;
  moved.control_addresses = {"10.1.1.1:7340"};
  ASSERT_TRUE(state_.Merge(std::vector{moved}, kLaterNs).ok());
  const auto told = state_.MakeGossip(kLaterNs).members;
  ASSERT_THAT(told, testing::SizeIs(2));
  EXPECT_EQ(told[1], moved);
  // A burst of changes is sent in parts.
  for (uint64_t i = 2; i < 100; ++i) {
    Member again = Named(i, 2);
    ASSERT_TRUE(state_.Merge(std::vector{again}, kLaterNs).ok());
  }
  EXPECT_THAT(state_.MakeGossip(kLaterNs).members, testing::SizeIs(17));
  EXPECT_THAT(state_.Records(), testing::SizeIs(kCount + 1));
}

TEST_F(ManyMembers, SilenceAloneCausesNoSuspicion) {
  for (int i = 0; i < 100; ++i) {
    for (const Contact& contact : state_.Tick(i * kNsPerSecond / 2)) state_.Reached(*contact.node);
  }
  for (const auto& [node, view] : state_.others())
    ASSERT_EQ(view.member.state, MemberState::kAlive) << view.member.name;
}

TEST_F(ManyMembers, ADoubtIsForwardedAndTheNodeIsProbedButNotSuspected) {
  Member doubted = Named(7);
  doubted.state = MemberState::kSuspect;
  int64_t now_ns = kLaterNs;
  state_.TakeDoubts(std::vector{doubted}, now_ns);
  EXPECT_EQ(StateOf(state_, 7), MemberState::kAlive);
  ASSERT_THAT(state_.MakeGossip(now_ns).members, testing::SizeIs(2));
  EXPECT_EQ(state_.MakeGossip(now_ns).members[1].state, MemberState::kSuspect);
  EXPECT_TRUE(Asks(state_.Tick(now_ns), 7));
  // Others may repeat it: this node has not failed to reach it.
  for (int i = 0; i < 40; ++i) {
    now_ns += kNsPerSecond / 4;
    state_.TakeDoubts(std::vector{doubted}, now_ns);
    state_.Tick(now_ns);
    ASSERT_EQ(StateOf(state_, 7), MemberState::kAlive);
  }
  state_.Unanswered(Id(7), now_ns);
  state_.Tick(now_ns);
  EXPECT_EQ(StateOf(state_, 7), MemberState::kSuspect);
  state_.Tick(now_ns + 2 * kNsPerSecond);
  EXPECT_EQ(StateOf(state_, 7), MemberState::kDead);
}

TEST_F(ManyMembers, ANewerRecordTakesADoubtAway) {
  Member doubted = Named(7);
  doubted.state = MemberState::kSuspect;
  state_.TakeDoubts(std::vector{doubted}, kLaterNs);
  Member beat = Named(7);
  beat.heartbeat = 50;
  ASSERT_TRUE(state_.Merge(std::vector{beat}, kLaterNs + 1).ok());
  // The refutation is also sent to nodes that may have heard of the suspicion.
  const auto told = state_.MakeGossip(kLaterNs + 2).members;
  ASSERT_THAT(told, testing::SizeIs(2));
  EXPECT_EQ(told[1], beat);
  // An older suspicion does not count.
  state_.TakeDoubts(std::vector{doubted}, kLaterNs + 3);
  EXPECT_EQ(state_.MakeGossip(kLaterNs + 4).members[1].state, MemberState::kAlive);
}

TEST_F(ManyMembers, ADifferingNodeGetsTheRecordsOfThatBucketOnly) {
  MembershipState other(Named(2), {}, 1, 0);
  std::vector<Member> known = {Named(1)};
  for (uint64_t i = 3; i < 2 + kCount; ++i) {
    if (i != 20) known.push_back(Named(i));
  }
  ASSERT_TRUE(other.Merge(known, 0).ok());
  const MemberTalk question = other.MakeGossip(kLaterNs);
  EXPECT_TRUE(state_.Differs(question.buckets));
  const MemberTalk answer = state_.Answer(question.buckets, kLaterNs);
  EXPECT_LE(answer.members.size(), 6u);  // 200 in 64 buckets
  ASSERT_TRUE(other.Merge(answer.members, kLaterNs).ok());
  EXPECT_TRUE(other.Knows(Id(20)));
  EXPECT_FALSE(other.Differs(answer.buckets));
  EXPECT_THAT(state_.Answer(other.MakeGossip(kLaterNs).buckets, kLaterNs).members,
              testing::SizeIs(1));
  // Records whose certificates are missing are sent again.
  MemberTalk again = state_.MakeGossip(kLaterNs);
  state_.Include(std::vector{Id(20), Id(20), Id(999)}, again);
  EXPECT_THAT(again.members, testing::SizeIs(2));
}

TEST_F(ManyMembers, WhenFewAreLeftTheirTimeoutsRestart) {
  state_.Tick(kLaterNs - 1);
  for (uint64_t i = 10; i < 2 + kCount; ++i) {
    Member left = Named(i);
    left.state = MemberState::kLeft;
    ASSERT_TRUE(state_.Merge(std::vector{left}, kLaterNs).ok());
  }
  state_.Tick(kLaterNs);
  EXPECT_EQ(StateOf(state_, 7), MemberState::kAlive);
  EXPECT_THAT(state_.MakeGossip(kLaterNs).members, testing::SizeIs(kCount + 1));
  state_.Tick(kLaterNs + 4 * kNsPerSecond);
  EXPECT_EQ(StateOf(state_, 7), MemberState::kSuspect);
}

TEST(MembershipState, AVersionTellsChangesFromHeartbeats) {
  MembershipState state = Make();
  ASSERT_TRUE(state.Merge(std::vector{Named(2)}, 0).ok());
  const uint64_t version = state.version();
  Member beat = Named(2);
  beat.heartbeat = 7;
  ASSERT_TRUE(state.Merge(std::vector{beat}, 1).ok());
  EXPECT_EQ(state.version(), version);
  beat.heartbeat = 8;
  beat.data_addresses = {"10.0.0.2:9"};
  ASSERT_TRUE(state.Merge(std::vector{beat}, 2).ok());
  EXPECT_GT(state.version(), version);
}

}  // namespace
}  // namespace aster::cluster
