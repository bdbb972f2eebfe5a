// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The rolling hash that names every prefix of a token history (docs/kv.md), by which prefix caching
// finds pages, and a history that knows the hash at each of its positions. Must not know pages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.h"

namespace aster::kv {

// The hash after `tokens`, given the hash before them. The hash of no tokens at all is the layout's
// digest, so histories of different models have nothing in common.
Hash128 ExtendPrefixHash(const Hash128& before, std::span<const int32_t> tokens);

// Token ids with their prefix hashes. Appending costs the same at any length; the hash at an older
// position costs at most kHashInterval steps. Not for concurrent use.
class TokenHistory {
 public:
  explicit TokenHistory(const Hash128& digest) : hashes_{digest}, hash_(digest) {}

  uint32_t length() const { return static_cast<uint32_t>(tokens_.size()); }
  std::span<const int32_t> tokens() const { return tokens_; }
  const Hash128& hash() const { return hash_; }
  // The hash after the first `length` tokens, which must exist.
  Hash128 HashAt(uint32_t length) const;
  // How many of the first `tokens` are equal to the history from position `begin` on.
  uint32_t CountEqual(uint32_t begin, std::span<const int32_t> tokens) const;

  void Append(std::span<const int32_t> tokens);
  void Truncate(uint32_t length);

 private:
  static constexpr uint32_t kHashInterval = 64;  // 16 bytes for every 256 of tokens

  std::vector<int32_t> tokens_;
  std::vector<Hash128> hashes_;  // after 0, kHashInterval, 2 * kHashInterval… tokens
  Hash128 hash_;                 // after all of them
};

}  // namespace aster::kv
