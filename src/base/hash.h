// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Hashes: XXH3 for content and prefixes. Fast and well mixed, but no protection from deliberate
// collisions.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"

namespace aster {

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;

  auto operator<=>(const Hash128&) const = default;
  // 32 lower-case hexadecimal digits, high half first.
  std::string ToHex() const;
};

uint64_t Hash64Of(Bytes bytes, uint64_t seed = 0);
Hash128 Hash128Of(Bytes bytes, uint64_t seed = 0);

// The Hash128 of everything added, independent of the pieces.
class Hasher {
 public:
  Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  ~Hasher();

  void Add(Bytes bytes);
  // Adds the length too, so that ("ab", "c") and ("a", "bc") differ.
  void AddText(std::string_view text);
  template <Scalar T>
  void AddValue(T value) {
    Add({reinterpret_cast<const uint8_t*>(&value), sizeof(T)});
  }
  Hash128 Digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace aster
