// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Bytes that only the key's holders can read or change: AES-256 in Galois/counter mode. Must not
// know what they are nor where the key comes from.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "crypto/sha256.h"

namespace aster::crypto {

using SealingKey = Sha256Digest;  // 32 bytes that cannot be guessed

// The content, encrypted under a random nonce. `context` is not kept: Open has to be given
// it too.
Result<std::vector<uint8_t>> Seal(const SealingKey& key, Bytes content, Bytes context);
// PermissionDenied where the key, the context or any byte is another one.
Result<std::vector<uint8_t>> Unseal(const SealingKey& key, Bytes sealed, Bytes context);

}  // namespace aster::crypto
