// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/home_for_test.h"

namespace aster::cluster {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kYearS = 365 * 24 * 3600;

TEST(Identity, SaysWhoANodeIs) {
  const TestAuthority made;
  const Identity ann = made.NodeCalled("ann");
  EXPECT_EQ(ann.name, "ann");
  EXPECT_EQ(ann.cluster_name, "attic");
  EXPECT_EQ(ann.node, net::NodeIdOfKey(ann.key).value());
  EXPECT_NE(ann.node, made.NodeCalled("ann").node) << "the name alone does not make the identity";
}

// Once, certificates had nothing but the name, so the node's looked self-signed.
TEST(Identity, ANodeMayHaveItsClustersName) {
  const TestAuthority made;
  const Identity attic = made.NodeCalled("attic");
  EXPECT_EQ(attic.name, attic.cluster_name);
  EXPECT_TRUE(net::CheckCertificate(attic.ca_certificate, attic.certificate, kTestWallS).ok());
}

TEST(Identity, PartsThatDoNotBelongTogetherAreRefused) {
  const TestAuthority made;
  const TestAuthority other;
  const Identity ann = made.NodeCalled("ann");
  const Identity bob = made.NodeCalled("bob");
  const auto refused = [](const std::string& ca, const std::string& certificate,
                          const std::string& key, int64_t wall_s = kTestWallS) {
    const Result<Identity> identity = MakeIdentity(ca, certificate, key, wall_s);
    return identity.ok() ? "" : identity.error().message();
  };
  EXPECT_EQ(refused(ann.ca_certificate, ann.certificate, ann.key), "");
  EXPECT_THAT(refused(other.authority.certificate, ann.certificate, ann.key),
              HasSubstr("this node's certificate"));
  EXPECT_THAT(refused(ann.ca_certificate, ann.certificate, bob.key), HasSubstr("this node's key"));
  EXPECT_THAT(refused(bob.certificate, ann.certificate, ann.key),
              HasSubstr("not one of an authority"));
  EXPECT_NE(refused("", ann.certificate, ann.key), "");
  EXPECT_NE(refused(ann.ca_certificate, "", ann.key), "");
  EXPECT_NE(refused(ann.ca_certificate, ann.certificate, ""), "");
  EXPECT_NE(refused(ann.ca_certificate, ann.certificate.substr(0, 300), ann.key), "");
}

TEST(Identity, HoldsForTenYearsAndADayBefore) {
  const TestAuthority made;
  const Identity ann = made.NodeCalled("ann");
  const auto holds = [&](int64_t wall_s) {
    return MakeIdentity(ann.ca_certificate, ann.certificate, ann.key, wall_s).ok();
  };
  EXPECT_TRUE(holds(kTestWallS - 23 * 3600));
  EXPECT_FALSE(holds(kTestWallS - 25 * 3600));
  EXPECT_TRUE(holds(kTestWallS + kNodeYears * kYearS - 3600));
  EXPECT_FALSE(holds(kTestWallS + kNodeYears * kYearS + 3600));
}

TEST(Identity, NamesAreCheckedAndTheRequestsOwnIsNotBelieved) {
  const TestAuthority made;
  const std::string key = net::MakePrivateKey().value();
  const std::string request = net::MakeRequest(key, "root").value();
  for (const std::string name : {"", "a b", "-x", "a\nb", "../x"}) {
    EXPECT_FALSE(CertifyNode(made.authority, request, name, kTestWallS).ok()) << name;
    EXPECT_FALSE(MakeClusterAuthority(name, kTestWallS).ok()) << name;
  }
  EXPECT_FALSE(CertifyNode(made.authority, request, std::string(65, 'a'), kTestWallS).ok());
  // Plans could not name such nodes.
  for (const std::string name : {"here", "front", "auto"}) {
    EXPECT_FALSE(CertifyNode(made.authority, request, name, kTestWallS).ok()) << name;
    EXPECT_TRUE(CertifyNode(made.authority, request, "store" + name, kTestWallS).ok()) << name;
  }
  const std::string certificate = CertifyNode(made.authority, request, "bob", kTestWallS).value();
  EXPECT_EQ(net::DescribeCertificate(certificate)->name, "bob");
}

TEST(Identity, AnAuthoritysKeyThatIsNotItsOwnCertifiesNothing) {
  const TestAuthority made;
  const TestAuthority other;
  const std::string key = net::MakePrivateKey().value();
  const std::string request = net::MakeRequest(key, "bob").value();
  const Authority mixed{made.authority.certificate, other.authority.key};
  const Result<std::string> certificate = CertifyNode(mixed, request, "bob", kTestWallS);
  EXPECT_FALSE(certificate.ok() &&
               MakeIdentity(made.authority.certificate, *certificate, key, kTestWallS).ok());
}

}  // namespace
}  // namespace aster::cluster
