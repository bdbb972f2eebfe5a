// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <string>

#include "net/openssl_ptr.h"

namespace aster::net {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNow = 1'800'000'000;
constexpr Validity kValid{kNow - 3600, kNow + 3600};

struct Authority {
  std::string key = MakePrivateKey().value();
  std::string certificate = MakeAuthority(key, "home", kValid).value();
};

struct Node {
  std::string key = MakePrivateKey().value();
  std::string request = MakeRequest(key, "ann").value();

  std::string CertifiedBy(const Authority& authority, const Validity& validity = kValid) const {
    return Certify(authority.certificate, authority.key, request, "ann", validity).value();
  }
};

// An authority without the mark, as in older versions: only the cluster's name.
std::string Unmarked(const Authority& authority) {
  const KeyPtr key = ReadKey(authority.key, "the key").value();
  const CertificatePtr certificate = ReadCertificate(authority.certificate, "it").value();
  X509_NAME* const name = X509_get_subject_name(certificate.get());
  X509_NAME_ENTRY_free(
      X509_NAME_delete_entry(name, X509_NAME_get_index_by_NID(name, NID_organizationName, -1)));
  EXPECT_EQ(X509_NAME_entry_count(name), 1);
  EXPECT_EQ(X509_set_issuer_name(certificate.get(), name), 1);
  EXPECT_NE(X509_sign(certificate.get(), key.get(), EVP_sha256()), 0);
  const BioPtr written(BIO_new(BIO_s_mem()));
  EXPECT_EQ(PEM_write_bio_X509(written.get(), certificate.get()), 1);
  char* data = nullptr;
  const auto size = BIO_get_mem_data(written.get(), &data);
  return {data, static_cast<size_t>(size)};
}

// If names alone were compared, the node's certificate would count as self-signed.
TEST(Certificate, ANodeMayBeCalledLikeItsAuthority) {
  Authority home;
  const Node node;
  const auto certify = [&](std::string_view name) {
    return Certify(home.certificate, home.key, node.request, name, kValid);
  };
  EXPECT_TRUE(CheckCertificate(home.certificate, certify("home").value(), kNow).ok());
  EXPECT_EQ(DescribeCertificate(home.certificate)->name, "home");
  // An unmarked authority works, too, but refuses a node of its own name before it joins.
  home.certificate = Unmarked(home);
  EXPECT_TRUE(CheckCertificate(home.certificate, certify("ann").value(), kNow).ok());
  const auto refused = certify("home");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("choose another one with --name"));
}

TEST(Certificate, ANodeIsVouchedForByItsAuthorityOnly) {
  const Authority home;
  const Authority other;
  const Node ann;
  const std::string certificate = ann.CertifiedBy(home);
  EXPECT_TRUE(CheckCertificate(home.certificate, certificate, kNow).ok());
  EXPECT_TRUE(CheckKeyOfCertificate(certificate, ann.key).ok());
  EXPECT_THAT(CheckKeyOfCertificate(certificate, home.key).error().message(),
              HasSubstr("mixed up"));
  const Status foreign = CheckCertificate(other.certificate, certificate, kNow);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().code(), Code::kUnauthenticated);
}

TEST(Certificate, TimeMatters) {
  const Authority home;
  const std::string certificate = Node().CertifiedBy(home, {kNow - 100, kNow + 100});
  EXPECT_TRUE(CheckCertificate(home.certificate, certificate, kNow).ok());
  EXPECT_THAT(CheckCertificate(home.certificate, certificate, kNow + 101).error().message(),
              HasSubstr("expired"));
  EXPECT_THAT(CheckCertificate(home.certificate, certificate, kNow - 101).error().message(),
              HasSubstr("not yet valid"));
  EXPECT_FALSE(MakeAuthority(home.key, "home", {kNow, kNow}).ok());
}

TEST(Certificate, NodesCannotVouchForOthers) {
  const Authority home;
  const Node ann;
  const Node bob;
  const Result<std::string> certificate =
      Certify(ann.CertifiedBy(home), ann.key, bob.request, "bob", kValid);
  EXPECT_THAT(certificate.error().message(), HasSubstr("is a node, not the authority"));
}

TEST(Certificate, TheNodeIdFollowsFromThePublicKey) {
  const Authority home;
  const Node ann;
  const wire::NodeId node = NodeIdOfKey(ann.key).value();
  EXPECT_EQ(NodeIdOfRequest(ann.request).value(), node);
  EXPECT_EQ(NodeIdOfCertificate(ann.CertifiedBy(home)).value(), node);
  EXPECT_NE(NodeIdOfKey(home.key).value(), node);
  const CertificateInfo info = DescribeCertificate(ann.CertifiedBy(home)).value();
  EXPECT_EQ(info.node, node);
  EXPECT_EQ(info.name, "ann");
  EXPECT_EQ(info.validity.begin_s, kValid.begin_s);
  EXPECT_EQ(info.validity.end_s, kValid.end_s);
  EXPECT_FALSE(info.is_authority);
  EXPECT_TRUE(DescribeCertificate(home.certificate)->is_authority);
}

TEST(Certificate, TheNodeIdIsThatOfEveryVersion) {
  // The digest was made with `openssl pkey -pubout -outform DER | sha256sum`.
  const std::string key =
      "-----BEGIN PRIVATE KEY-----\n"
      "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAAAAAAAAAAAAAAAA\n"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAGhRANCAARrF9Hy4SxCR/i85uVjpEDydwN9gS3r\n"
      "M6D0oTlF2JjClk/jQuL+Gn+bjufrSnwPnhYrzjNXazFezsu2QGg3v1H1\n"
      "-----END PRIVATE KEY-----\n";
  EXPECT_EQ(NodeIdOfKey(key).value().value.ToHex(), "5cd252fb0ce8932436faf8ccd1040981");
}

TEST(Certificate, DamagedRequestsAreRefused) {
  const Authority home;
  const Node ann;
  for (size_t i = 40; i + 44 < ann.request.size(); i += 7) {
    std::string damaged = ann.request;
    damaged[i] = damaged[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(Certify(home.certificate, home.key, damaged, "ann", kValid).ok()) << i;
  }
  EXPECT_FALSE(Certify(home.certificate, home.key, "", "ann", kValid).ok());
  EXPECT_FALSE(Certify(home.certificate, home.key, std::string(100'000, 'x'), "ann", kValid).ok());
}

TEST(Certificate, WhatIsNotPemIsAnError) {
  EXPECT_THAT(NodeIdOfKey("garbage").error().message(), HasSubstr("not a private key in PEM"));
  EXPECT_THAT(NodeIdOfCertificate("").error().message(), HasSubstr("not a certificate in PEM"));
  EXPECT_FALSE(MakeAuthority("garbage", "home", kValid).ok());
  const std::string key = MakePrivateKey().value();
  EXPECT_THAT(MakeAuthority(key, "", kValid).error().message(), HasSubstr("1 to 64"));
  EXPECT_FALSE(MakeRequest(key, std::string(65, 'n')).ok());
}

}  // namespace
}  // namespace aster::net
