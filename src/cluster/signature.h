// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Proves the sender of a message: by a key pair (the cluster's authority) or by a shared secret.
// Must not know what is signed.
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
// PermissionDenied unless the signature is by the key of this certificate.
Status CheckSignature(std::string_view certificate_pem, Bytes bytes, Bytes signature);

// HMAC-SHA256 over the parts, each with its length, so that bytes of one part cannot count as
// another's.
crypto::Sha256Digest ProofOf(Bytes secret, std::span<const std::string_view> parts);

}  // namespace aster::cluster
