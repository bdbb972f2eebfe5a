// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Caches the tokens of short pieces, as texts repeat words. Must not know how they were encoded.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "text/vocab.h"

namespace aster::text {

// Has a fixed size; a new piece replaces an old one. Not for concurrent use.
class PieceCache {
 public:
  static constexpr size_t kMaxPieceBytes = 24;
  static constexpr size_t kMaxIds = 7;

  PieceCache() : entries_(kEntries) {}

  // The tokens of the piece, if they are cached; valid until the next call of Insert. The size of a
  // piece is 1 to kMaxPieceBytes.
  std::optional<std::span<const TokenId>> Find(std::string_view piece) const {
    const Key key = KeyOf(piece);
    const Entry* entry = &entries_[FirstOf(key)];
    if (entry->key != key && (++entry)->key != key) return std::nullopt;
    return std::span(entry->ids).first(entry->id_count);
  }

  void Insert(std::string_view piece, std::span<const TokenId> ids) {
    if (ids.size() > kMaxIds) return;
    const Key key = KeyOf(piece);
    Entry* entry = &entries_[FirstOf(key)];
    entry[1] = entry[0];
    entry->key = key;
    entry->id_count = static_cast<uint32_t>(ids.size());
    std::ranges::copy(ids, entry->ids.begin());
  }

 private:
  // The piece as three words, without loops: words may overlap, but together with the size they
  // identify the piece.
  struct Key {
    uint64_t a = 0;
    uint64_t b = 0;
    uint64_t c = 0;
    uint32_t size = 0;  // 0 if an entry is free

    bool operator==(const Key& other) const {
      return ((a ^ other.a) | (b ^ other.b) | (c ^ other.c) | (size ^ other.size)) == 0;
    }
  };

  // As much as fits into one cache line.
  struct alignas(64) Entry {
    Key key;
    std::array<TokenId, kMaxIds> ids = {};
    uint32_t id_count = 0;
  };
  static_assert(sizeof(Entry) == 64);

  // Two megabytes, in which every piece has two possible places, side by side.
  static constexpr size_t kEntries = size_t{1} << 15;

  // The first bytes of a word; the size is known at compile time.
  static uint64_t Load(const char* bytes, size_t size) {
    uint64_t value = 0;
    std::memcpy(&value, bytes, size);
    return value;
  }

  static Key KeyOf(std::string_view piece) {
    const char* begin = piece.data();
    const size_t size = piece.size();
    Key key = {.size = static_cast<uint32_t>(size)};
    if (size > 16) {
      key.a = Load(begin, 8);
      key.b = Load(begin + 8, 8);
      key.c = Load(begin + size - 8, 8);
    } else if (size >= 8) {
      key.a = Load(begin, 8);
      key.b = Load(begin + size - 8, 8);
    } else if (size >= 4) {
      key.a = Load(begin, 4) | Load(begin + size - 4, 4) << 32;
    } else {
      key.a = Load(begin, 1) | Load(begin + size / 2, 1) << 8 | Load(begin + size - 1, 1) << 16;
    }
    return key;
  }

  // The first of the two places.
  static size_t FirstOf(const Key& key) {
    constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15U;
    uint64_t hash = (key.a + key.size) * kMultiplier;
    hash = (std::rotl(hash, 23) ^ key.b) * kMultiplier;
    hash = (std::rotl(hash, 23) ^ key.c) * kMultiplier;
    return static_cast<size_t>(hash >> 50) * 2;
  }
  static_assert(kEntries == size_t{2} << (64 - 50));

  std::vector<Entry> entries_;
};

}  // namespace aster::text
