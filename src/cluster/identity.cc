// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/process_limits.h"
#include "net/certificate.h"

namespace aster::cluster {
namespace {

constexpr int64_t kDaySeconds = 24 * 3600;

// Begins a day ago, as clocks may be wrong.
net::Validity YearsFrom(int64_t wall_s, int64_t years) {
  return {.begin_s = wall_s - kDaySeconds, .end_s = wall_s + years * 365 * kDaySeconds};
}

}  // namespace

Result<Authority> MakeClusterAuthority(std::string_view cluster_name, int64_t wall_s) {
  TRY(CheckNodeName(cluster_name).In("the cluster's name"));
  ForbidCoreDumps();
  Authority authority;
  authority.key = TRY(net::MakePrivateKey());
  authority.certificate =
      TRY(net::MakeAuthority(authority.key, cluster_name, YearsFrom(wall_s, kAuthorityYears)));
  return authority;
}

Status CheckNewNodeName(std::string_view name) {
  constexpr std::array<std::string_view, 4> kWords = {"here", "front", "auto", "out"};
  TRY(CheckNodeName(name));
  if (std::ranges::find(kWords, AsciiLower(name)) == kWords.end()) return Ok();
  return InvalidArgument(fmt::format(
      "\"{}\" cannot be a node's name: --split and --decode use it for themselves", name));
}

Result<std::string> CertifyNode(const Authority& authority, std::string_view request,
                                std::string_view name, int64_t wall_s) {
  TRY(CheckNewNodeName(name));
  return net::Certify(authority.certificate, authority.key, request, name,
                      YearsFrom(wall_s, kNodeYears));
}

Result<Identity> MakeIdentity(std::string ca_certificate, std::string certificate, std::string key,
                              int64_t wall_s) {
  Identity identity;
  const net::CertificateInfo authority =
      TRY(net::DescribeCertificate(ca_certificate).In("the cluster's certificate"));
  const net::CertificateInfo own =
      TRY(net::DescribeCertificate(certificate).In("this node's certificate"));
  if (!authority.is_authority)
    return DataLoss("the cluster's certificate is not one of an authority");
  TRY(net::CheckCertificate(ca_certificate, certificate, wall_s).In("this node's certificate"));
  TRY(net::CheckKeyOfCertificate(certificate, key).In("this node's key"));
  TRY(CheckNodeName(own.name).In("this node's certificate"));
  TRY(CheckNodeName(authority.name).In("the cluster's certificate"));
  identity.cluster_name = authority.name;
  identity.name = own.name;
  identity.node = own.node;
  identity.ca_certificate = std::move(ca_certificate);
  identity.certificate = std::move(certificate);
  identity.key = std::move(key);
  return identity;
}

}  // namespace aster::cluster
