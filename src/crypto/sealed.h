// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Authenticated encryption: AES-256 in Galois/counter mode. Must not know the content nor where the
// key comes from.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "crypto/sha256.h"

namespace aster::crypto {

using SealingKey = Sha256Digest;  // 32 bytes that cannot be guessed

// The content, encrypted with a random nonce. `context` is not stored: Unseal needs it, too.
Result<std::vector<uint8_t>> Seal(const SealingKey& key, Bytes content, Bytes context);
// PermissionDenied if the key, the context or any byte differs.
Result<std::vector<uint8_t>> Unseal(const SealingKey& key, Bytes sealed, Bytes context);

}  // namespace aster::crypto
