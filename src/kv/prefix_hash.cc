// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/prefix_hash.h"

#include <algorithm>

#include "base/check.h"

namespace aster::kv {

Hash128 ExtendPrefixHash(const Hash128& before, std::span<const int32_t> tokens) {
  struct Link {
    Hash128 before;
    int64_t token;  // 64 bits, so that no padding is hashed
  };
  static_assert(sizeof(Link) == 24);
  Hash128 hash = before;
  for (const int32_t token : tokens) {
    const Link link = {.before = hash, .token = token};
    hash = Hash128Of({reinterpret_cast<const uint8_t*>(&link), sizeof(link)});
  }
  return hash;
}

Hash128 TokenHistory::HashAt(uint32_t length) const {
  CHECK(length <= this->length());
  if (length == this->length()) return hash_;
  const uint32_t known = length / kHashInterval * kHashInterval;
  return ExtendPrefixHash(hashes_[known / kHashInterval], tokens().subspan(known, length - known));
}

uint32_t TokenHistory::CountEqual(uint32_t begin, std::span<const int32_t> tokens) const {
  CHECK(begin <= length());
  const size_t count = std::min<size_t>(tokens.size(), length() - begin);
  const auto mismatch =
      std::mismatch(tokens.begin(), tokens.begin() + count, tokens_.begin() + begin);
  return static_cast<uint32_t>(mismatch.first - tokens.begin());
}

void TokenHistory::Append(std::span<const int32_t> tokens) {
  while (!tokens.empty()) {
    const size_t room = kHashInterval - tokens_.size() % kHashInterval;
    const std::span<const int32_t> piece = tokens.first(std::min(room, tokens.size()));
    hash_ = ExtendPrefixHash(hash_, piece);
    tokens_.insert(tokens_.end(), piece.begin(), piece.end());
    if (tokens_.size() % kHashInterval == 0) hashes_.push_back(hash_);
    tokens = tokens.subspan(piece.size());
  }
}

void TokenHistory::Truncate(uint32_t length) {
  hash_ = HashAt(length);
  tokens_.resize(length);
  hashes_.resize(length / kHashInterval + 1);
}

}  // namespace aster::kv
