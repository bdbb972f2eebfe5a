// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// SHA-256, of bytes at once or in pieces. Must not know what is hashed, nor why.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"

namespace aster::crypto {

using Sha256Digest = std::array<uint8_t, 32>;

Sha256Digest Sha256Of(Bytes bytes);

// 64 lower-case hexadecimal digits.
std::string ToHex(const Sha256Digest& digest);

// Hashes bytes that come in pieces. Not for concurrent use.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void Add(Bytes bytes);
  // The hash of all added bytes; no more may be added.
  Sha256Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace aster::crypto
