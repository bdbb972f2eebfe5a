// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/member_signature.h"

#include <gtest/gtest.h>

#include "cluster/home_for_test.h"

namespace aster::cluster {
namespace {

class MemberSignature : public testing::Test {
 protected:
  static Member RecordOf(const Identity& identity) {
    Member member;
    member.node = identity.node;
    member.name = identity.name;
    member.control_addresses = {"10.0.0.1:7424", "10.0.1.1:7424"};
    member.data_addresses = {"10.0.0.1:7425"};
    member.incarnation = 7;
    member.heartbeat = 8;
    member.description_version = 9;
    member.signature = SignMember(member, identity.key).value();
    return member;
  }

  const TestAuthority made_;
  const Identity ann_ = made_.NodeCalled("ann");
  const Identity bob_ = made_.NodeCalled("bob");
  MemberCertificates known_{made_.authority.certificate};
};

TEST_F(MemberSignature, CoversAllThatANodeSaysOfItself) {
  ASSERT_TRUE(known_.Add(ann_.certificate, kTestWallS).ok());
  const Member record = RecordOf(ann_);
  EXPECT_TRUE(known_.Check(record).ok());
  EXPECT_LE(record.signature.size(), kMaxSignatureBytes);
  std::vector<Member> changed(9, record);
  changed[0].control_addresses = {"10.6.6.6:22"};
  changed[1].control_addresses = {"10.0.0.1:7424"};
  changed[2].data_addresses.clear();
  changed[3].incarnation = kMaxIncarnation;
  changed[4].heartbeat = 9;
  changed[5].state = MemberState::kLeft;
  changed[6].description_version = 10;
  changed[7].signature.clear();
  changed[8].signature.back() ^= 1;
  for (size_t i = 0; i < changed.size(); ++i) EXPECT_FALSE(known_.Check(changed[i]).ok()) << i;
}

TEST_F(MemberSignature, DoesNotCoverSuspicionByOthers) {
  ASSERT_TRUE(known_.Add(ann_.certificate, kTestWallS).ok());
  Member record = RecordOf(ann_);
  for (const MemberState state : {MemberState::kSuspect, MemberState::kDead}) {
    record.state = state;
    EXPECT_TRUE(known_.Check(record).ok());
  }
}

TEST_F(MemberSignature, NoMemberSpeaksForAnother) {
  ASSERT_TRUE(known_.Add(ann_.certificate, kTestWallS).ok());
  EXPECT_FALSE(known_.Check(RecordOf(bob_)).ok());  // not known yet
  ASSERT_TRUE(known_.Add(bob_.certificate, kTestWallS).ok());
  EXPECT_TRUE(known_.Check(RecordOf(bob_)).ok());
  Member forged = RecordOf(ann_);
  forged.signature = SignMember(forged, bob_.key).value();
  EXPECT_EQ(known_.Check(forged).error().code(), Code::kPermissionDenied);
  Member renamed = RecordOf(ann_);
  renamed.name = "bob";
  renamed.signature = SignMember(renamed, ann_.key).value();
  EXPECT_FALSE(known_.Check(renamed).ok());
}

TEST_F(MemberSignature, NoMemberIsMadeUp) {
  const TestAuthority elsewhere;
  EXPECT_FALSE(known_.Add(elsewhere.NodeCalled("ghost").certificate, kTestWallS).ok());
  EXPECT_FALSE(known_.Add("no certificate", kTestWallS).ok());
  EXPECT_FALSE(known_.Has(elsewhere.NodeCalled("ghost").node));
}

TEST_F(MemberSignature, ForgetsNonMembers) {
  ASSERT_TRUE(known_.Add(ann_.certificate, kTestWallS).ok());
  ASSERT_TRUE(known_.Add(bob_.certificate, kTestWallS).ok());
  known_.KeepOnly([&](const NodeId& node) { return node == ann_.node; });
  EXPECT_EQ(known_.Find(ann_.node), ann_.certificate);
  EXPECT_EQ(known_.Find(bob_.node), "");
}

}  // namespace
}  // namespace aster::cluster
