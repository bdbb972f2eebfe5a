// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Who said something: by a key pair (the cluster's authority) or by a secret that two share. Must
// not know what was said.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "crypto/sha256.h"
#include "net/certificate.h"

namespace aster::cluster {

// ECDSA over SHA-256.
Result<std::vector<uint8_t>> Sign(std::string_view key_pem, Bytes bytes);
// PermissionDenied where the signature is not by the key of this certificate.
Status CheckSignature(std::string_view certificate_pem, Bytes bytes, Bytes signature);

// HMAC-SHA256 over the parts, each with its length, so that what belongs to one part cannot be
// taken for another's.
crypto::Sha256Digest ProofOf(Bytes secret, std::span<const std::string_view> parts);

}  // namespace aster::cluster
