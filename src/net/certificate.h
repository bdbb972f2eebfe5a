// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Keys and certificates: the cluster's own authority, the nodes that it certifies, and the NodeId
// that follows from a public key. All in PEM. Must not know where they are stored, nor who may have
// one.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "crypto/sha256.h"
#include "wire/messages.h"

namespace aster::net {

// The first 16 bytes: ToHex() gives the digest's first 32 digits.
wire::NodeId NodeIdOfDigest(const crypto::Sha256Digest& digest);

// A new private key on the curve P-256.
Result<std::string> MakePrivateKey();

struct Validity {
  int64_t begin_s = 0;  // since 1970, UTC
  int64_t end_s = 0;
};

// A self-signed authority.
Result<std::string> MakeAuthority(std::string_view key_pem, std::string_view name,
                                  const Validity& validity);

// A certificate request, which proves that the node has the private key of its public key. A node
// that wants to join sends it.
Result<std::string> MakeRequest(std::string_view key_pem, std::string_view name);

// A certificate for the key of a request whose signature is valid, with the name `name` (the
// request's own name is ignored). Valid for servers and clients, for the hosts "node.aster" and
// "<32 digits of its NodeId>.aster".
Result<std::string> Certify(std::string_view authority_pem, std::string_view authority_key_pem,
                            std::string_view request_pem, std::string_view name,
                            const Validity& validity);

// The first 16 bytes of the SHA-256 of a public key (SubjectPublicKeyInfo, DER); its ToHex() are
// the digest's first 32 digits.
Result<wire::NodeId> NodeIdOfKey(std::string_view key_pem);
Result<wire::NodeId> NodeIdOfCertificate(std::string_view certificate_pem);
Result<wire::NodeId> NodeIdOfRequest(std::string_view request_pem);

struct CertificateInfo {
  std::string name;
  wire::NodeId node;
  Validity validity;
  bool is_authority = false;
  crypto::Sha256Digest sha256{};  // of the certificate in DER
};
Result<CertificateInfo> DescribeCertificate(std::string_view certificate_pem);

// Whether the authority has signed the certificate and it is valid at this time.
Status CheckCertificate(std::string_view authority_pem, std::string_view certificate_pem,
                        int64_t now_s);
// Whether the private key belongs to the certificate.
Status CheckKeyOfCertificate(std::string_view certificate_pem, std::string_view key_pem);

}  // namespace aster::net
