// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/authority_file.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "cluster/signature.h"
#include "cluster/word_lines.h"
#include "crypto/sealed.h"
#include "net/certificate.h"

namespace aster::cluster {
namespace {

constexpr std::string_view kAuthorityHeading = "asterism authority 1";
constexpr std::string_view kClusterWord = "cluster";
constexpr std::string_view kSealedWord = "key";

crypto::SealingKey KeyOf(const InviteCode& code) {
  const std::array<std::string_view, 1> parts = {kAuthorityHeading};
  return ProofOf(code.Secret(), parts);
}

}  // namespace

// A line names the cluster: its name for users, and the hash of its authority's certificate. The
// next one has the key, encrypted together with that certificate.
Result<std::string> FormatAuthorityFile(const Authority& authority, const InviteCode& code) {
  const net::CertificateInfo info = TRY(net::DescribeCertificate(authority.certificate));
  const std::vector<uint8_t> sealed =
      TRY(crypto::Seal(KeyOf(code), AsBytes(authority.key), AsBytes(authority.certificate)));
  return fmt::format("{}\n{} {} {}\n{} {}\n", kAuthorityHeading, kClusterWord, info.name,
                     ToHex(info.sha256), kSealedWord, ToHex(sealed));
}

Result<Authority> ParseAuthorityFile(std::string_view text, const InviteCode& code,
                                     std::string_view ca_certificate) {
  const std::vector<Words> lines = TRY(ParseWordLines(text, kAuthorityHeading));
  const bool is_whole = lines.size() == 2 && lines[0].size() == 3 && lines[0][0] == kClusterWord &&
                        lines[1].size() == 2 && lines[1][0] == kSealedWord;
  if (!is_whole) return DataLoss("the file is damaged");
  const net::CertificateInfo own = TRY(net::DescribeCertificate(ca_certificate));
  if (lines[0][2] != ToHex(own.sha256)) {
    return FailedPrecondition(fmt::format(
        "the key is of another cluster, {}; this machine belongs to {}", lines[0][1], own.name));
  }
  const std::vector<uint8_t> sealed = TRY(ParseHex(lines[1][1]));
  const auto key = crypto::Unseal(KeyOf(code), sealed, AsBytes(ca_certificate));
  if (!key.ok() && key.error().code() == Code::kPermissionDenied) {
    return InvalidArgument("the code is not the one of this file, or the file was changed");
  }
  Authority authority{.certificate = std::string(ca_certificate),
                      .key = std::string(AsText(TRY(key)))};
  TRY(net::CheckKeyOfCertificate(authority.certificate, authority.key));
  return authority;
}

}  // namespace aster::cluster
