// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "crypto/secrets.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

namespace aster::crypto {

bool EqualSecrets(Bytes a, Bytes b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Result<std::vector<uint8_t>> RandomSecret(size_t size) {
  std::vector<uint8_t> bytes(size);
  if (RAND_bytes(bytes.data(), static_cast<int>(size)) != 1) {
    return Error(Code::kUnavailable, "the system gives no random numbers; try again");
  }
  return bytes;
}

}  // namespace aster::crypto
