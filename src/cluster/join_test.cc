// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/join.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "cluster/home_for_test.h"
#include "cluster/signature.h"

namespace aster::cluster {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kTenMinutesS = 600;

class JoinTest : public ::testing::Test {
 protected:
  InviteCode Invite() const {
    const InviteCode code = InviteCode::Draw().value();
    CHECK(made_.home.AddInvitation(code, kTestWallS + kTenMinutesS, kTestWallS).ok());
    return code;
  }
  std::string RefusalOf(const JoinRequest& request) {
    const Result<JoinReply> reply = admission_.Admit(request);
    return reply.ok() ? "" : reply.error().message();
  }

  const TestHome made_;
  VirtualClock clock_{0, kTestWallS* kNsPerSecond};
  Admission admission_{made_.home, clock_};
};

TEST_F(JoinTest, TheCodeAdmitsAMachine) {
  const InviteCode code = Invite();
  const NodeId revoked{{4, 4}};
  ASSERT_TRUE(made_.home.Revoke(revoked, kTestWallS).ok());
  const Joining joining = Joining::Begin(code, "bob").value();
  const JoinReply reply = admission_.Admit(joining.request()).value();
  const Identity bob = joining.Finish(reply, kTestWallS).value();
  EXPECT_EQ(bob.name, "bob");
  EXPECT_EQ(bob.cluster_name, "attic");
  EXPECT_EQ(bob.ca_certificate, made_.identity.ca_certificate);
  EXPECT_TRUE(Revocations::Parse(reply.revocations, bob.ca_certificate)->Contains(revoked));
  // The messages have neither the code nor any other secret.
  const JoinRequest& request = joining.request();
  for (const std::string& sent : {request.invitation, request.certificate_request, request.proof,
                                  reply.certificate, reply.proof, reply.ca_certificate}) {
    EXPECT_EQ(sent.find("PRIVATE"), std::string::npos);
    EXPECT_EQ(sent.find(code.ToText()), std::string::npos);
    EXPECT_EQ(sent.find(AsText(code.Secret())), std::string::npos);
  }
  // Its name is reserved from now on.
  EXPECT_EQ(made_.home.LoadPeers()->front().node, bob.node);
  EXPECT_THAT(RefusalOf(Joining::Begin(Invite(), "bob")->request()), HasSubstr("already"));
  ASSERT_TRUE(made_.home.Revoke(bob.node, kTestWallS).ok());
  EXPECT_EQ(RefusalOf(Joining::Begin(Invite(), "bob")->request()), "");
}

TEST_F(JoinTest, UsedExpiredAndUnknownCodesAreRefused) {
  const InviteCode code = Invite();
  const Joining joining = Joining::Begin(code, "bob").value();
  ASSERT_EQ(RefusalOf(joining.request()), "");
  EXPECT_THAT(RefusalOf(joining.request()), HasSubstr("it was used"));
  EXPECT_THAT(RefusalOf(Joining::Begin(InviteCode::Draw().value(), "eve")->request()),
              HasSubstr("no such invitation"));
  const Joining late = Joining::Begin(Invite(), "carol").value();
  clock_.AdvanceBy(kTenMinutesS * kNsPerSecond);
  EXPECT_THAT(RefusalOf(late.request()), HasSubstr("has expired"));
}

// Formerly the certificate was not valid yet on such a machine, and invitation and name were lost.
TEST_F(JoinTest, AClockThatIsADayBehindCostsNothing) {
  const InviteCode code = Invite();
  constexpr int64_t kHourS = 3600;
  const auto refusal_at = [&](int64_t wall_s) {
    return RefusalOf(Joining::Begin(code, "bob", wall_s)->request());
  };
  EXPECT_THAT(refusal_at(kTestWallS - 25 * kHourS), HasSubstr("25 hours behind"));
  EXPECT_THAT(refusal_at(1), HasSubstr("use the same code again"));
  const Joining right = Joining::Begin(code, "bob", kTestWallS - 22 * kHourS).value();
  const Result<JoinReply> reply = admission_.Admit(right.request());
  ASSERT_TRUE(reply.ok()) << reply.error().message();
  EXPECT_TRUE(right.Finish(*reply, kTestWallS - 22 * kHourS).ok());
}

TEST_F(JoinTest, AStrangerInBetweenChangesNothing) {
  const InviteCode code = Invite();
  const Joining bob = Joining::Begin(code, "bob").value();
  // The attacker saw the request and inserts a key, a name or an invitation of his own.
  const std::string key = net::MakePrivateKey().value();
  JoinRequest request = bob.request();
  request.certificate_request = net::MakeRequest(key, "bob").value();
  EXPECT_THAT(RefusalOf(request), HasSubstr("not the one of this invitation"));
  request = bob.request();
  request.name = "root";
  EXPECT_THAT(RefusalOf(request), HasSubstr("not the one of this invitation"));
  // The attacker changes the reply: it has his own authority, for himself or with a new signature.
  const JoinReply good = admission_.Admit(bob.request()).value();
  const TestAuthority mallory;
  const auto refused = [&](const JoinReply& reply) {
    const Result<Identity> identity = bob.Finish(reply, kTestWallS);
    return !identity.ok() && identity.error().code() == Code::kPermissionDenied;
  };
  JoinReply reply = good;
  reply.ca_certificate = mallory.authority.certificate;
  reply.certificate =
      CertifyNode(mallory.authority, bob.request().certificate_request, "bob", kTestWallS).value();
  EXPECT_TRUE(refused(reply));
  // The reply is proven with another code, by a machine that pretends to have made the invitation.
  const InviteCode other = InviteCode::Draw().value();
  const std::array<std::string_view, 6> parts = {"asterism join reply 1", bob.request().proof,
                                                 reply.cluster_name,      reply.ca_certificate,
                                                 reply.certificate,       reply.revocations};
  reply.proof = std::string(AsText(ProofOf(other.Secret(), parts)));
  EXPECT_TRUE(refused(reply));
  for (std::string JoinReply::* part :
       {&JoinReply::cluster_name, &JoinReply::ca_certificate, &JoinReply::certificate,
        &JoinReply::revocations, &JoinReply::proof}) {
    reply = good;
    (reply.*part) += 'x';
    EXPECT_TRUE(refused(reply));
    reply.*part = "";
    EXPECT_TRUE(refused(reply) || (good.*part).empty());
  }
  // The reply is for another machine.
  const Joining carol = Joining::Begin(code, "bob").value();
  EXPECT_FALSE(carol.Finish(good, kTestWallS).ok());
  EXPECT_TRUE(bob.Finish(good, kTestWallS).ok());
}

TEST_F(JoinTest, ARequestWithAnotherKeyIsRefused) {
  // A machine that knows the code requests a certificate for another machine's key.
  const InviteCode code = Invite();
  JoinRequest request = Joining::Begin(code, "bob")->request();
  for (const std::string& wrong : {std::string("nonsense"), made_.identity.certificate,
                                   std::string(20'000, 'a'), std::string()}) {
    request.certificate_request = wrong;
    const std::array<std::string_view, 4> parts = {"asterism join request 1", request.invitation,
                                                   request.name, request.certificate_request};
    request.proof = std::string(AsText(ProofOf(code.Secret(), parts)));
    EXPECT_NE(RefusalOf(request), "");
  }
  // The invitation is still valid.
  EXPECT_EQ(RefusalOf(Joining::Begin(code, "bob")->request()), "");
}

TEST_F(JoinTest, NamesThatAreTakenOrNoneAreRefusedAndCostNothing) {
  const InviteCode code = Invite();
  EXPECT_THAT(RefusalOf(Joining::Begin(code, "ann")->request()),
              HasSubstr("a node called ann is in the cluster already"));
  EXPECT_THAT(RefusalOf(Joining::Begin(code, "Ann")->request()),
              HasSubstr("a node called ann is in the cluster already"));
  for (const char* bad : {"a b", "here", "out", "OUT"})
    EXPECT_FALSE(Joining::Begin(code, bad).ok());
  EXPECT_EQ(RefusalOf(Joining::Begin(code, "bob")->request()), "");
}

TEST_F(JoinTest, WrongCodesVoidTheInvitation) {
  const InviteCode code = Invite();
  JoinRequest guess = Joining::Begin(InviteCode::Draw().value(), "eve")->request();
  guess.invitation = code.Id();
  for (uint64_t i = 0; i < Home::kAttempts; ++i)
    EXPECT_THAT(RefusalOf(guess), HasSubstr("after a few wrong ones"));
  EXPECT_THAT(RefusalOf(guess), HasSubstr("no such invitation"));
  EXPECT_THAT(RefusalOf(Joining::Begin(code, "bob")->request()), HasSubstr("no such invitation"));
}

TEST_F(JoinTest, UnknownInvitationsAreRateLimitedAndKnownOnesAreNot) {
  const InviteCode code = Invite();
  const JoinRequest strange = Joining::Begin(InviteCode::Draw().value(), "eve")->request();
  for (int i = 0; i < Admission::kMaxUnknownPerMinute; ++i)
    EXPECT_THAT(RefusalOf(strange), HasSubstr("no such invitation"));
  EXPECT_THAT(RefusalOf(strange), HasSubstr("too many attempts"));
  EXPECT_EQ(RefusalOf(Joining::Begin(code, "bob")->request()), "");
  clock_.AdvanceBy(61 * kNsPerSecond);
  EXPECT_THAT(RefusalOf(strange), HasSubstr("no such invitation"));
}

TEST_F(JoinTest, OfTwoMachinesWithOneCodeOneIsAdmitted) {
  for (int round = 0; round < 5; ++round) {
    const InviteCode code = Invite();
    std::atomic<int> in = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      const JoinRequest request = Joining::Begin(code, fmt::format("n-{}-{}", round, i))->request();
      threads.emplace_back([&, request] { in += admission_.Admit(request).ok(); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(in.load(), 1);
  }
}

TEST_F(JoinTest, AMachineWithoutTheAuthorityAdmitsNoNode) {
  const TemporaryDirectory directory = TemporaryDirectory::Create().value();
  const Home home(directory.File("cluster"));
  ASSERT_TRUE(home.Create(made_.made.NodeCalled("bob"), std::nullopt, "", false, kTestWallS).ok());
  Admission admission(home, clock_);
  EXPECT_THAT(admission.Admit(Joining::Begin(Invite(), "carol")->request()).error().message(),
              HasSubstr("where the cluster was made"));
}

TEST_F(JoinTest, WrongClocksAreReported) {
  const InviteCode code = Invite();
  const Joining joining = Joining::Begin(code, "bob").value();
  const JoinReply reply = admission_.Admit(joining.request()).value();
  EXPECT_THAT(joining.Finish(reply, kTestWallS - 48 * 3600).error().message(),
              HasSubstr("are the clocks of both machines right?"));
}

}  // namespace
}  // namespace aster::cluster
