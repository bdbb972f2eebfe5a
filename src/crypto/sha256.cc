// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "crypto/sha256.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include "base/check.h"

namespace aster::crypto {

Sha256Digest Sha256Of(Bytes bytes) {
  Sha256Digest digest;
  SHA256(bytes.data(), bytes.size(), digest.data());
  return digest;
}

std::string ToHex(const Sha256Digest& digest) {
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* ended) const { EVP_MD_CTX_free(ended); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  // Fails only if memory has run out.
  CHECK(state_->context != nullptr &&
        EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1);
}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::Add(Bytes bytes) {
  CHECK(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1);
}

Sha256Digest Sha256::Finish() {
  Sha256Digest digest;
  CHECK(EVP_DigestFinal_ex(state_->context.get(), digest.data(), nullptr) == 1);
  return digest;
}

}  // namespace aster::crypto
