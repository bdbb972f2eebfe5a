// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Remembers what short pieces of text were encoded to: a text says the same words again and again.
// Must not know how they were encoded.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "text/vocab.h"

namespace aster::text {

// A fixed amount of memory; a new piece takes the place of an old one. Not for concurrent use.
class PieceCache {
 public:
  static constexpr size_t kMaxPieceBytes = 24;
  static constexpr size_t kMaxIds = 8;

  // What fits into one line of the processor's cache.
  struct alignas(64) Entry {
    std::array<uint64_t, 3> text = {};  // see KeyOf
    uint16_t text_bytes = 0;            // 0 where the entry is free
    uint16_t id_count = 0;
    std::array<TokenId, kMaxIds> ids = {};
  };
  static_assert(sizeof(Entry) == 64);

  PieceCache() : entries_(kEntries) {}

  // The entry where this piece stands or would stand; piece.size() is 1 to kMaxPieceBytes.
  struct Place {
    Entry* entry;
    std::array<uint64_t, 3> key;
    bool found;
  };
  Place Find(std::string_view piece) {
    const std::array<uint64_t, 3> key = KeyOf(piece);
    Entry& entry = entries_[SlotOf(key, piece.size())];
    return {&entry, key, entry.text == key && entry.text_bytes == piece.size()};
  }

  static void Remember(const Place& place, std::string_view piece, std::span<const TokenId> ids) {
    if (ids.size() > kMaxIds) return;
    Entry& entry = *place.entry;
    entry.text = place.key;
    entry.text_bytes = static_cast<uint16_t>(piece.size());
    entry.id_count = static_cast<uint16_t>(ids.size());
    std::ranges::copy(ids, entry.ids.begin());
  }

 private:
  static constexpr size_t kEntries = size_t{1} << 15;  // two megabytes

  static uint64_t Load(const char* bytes, size_t size) {
    uint64_t value = 0;
    std::memcpy(&value, bytes, size);
    return value;
  }

  // The piece as three words, without loops: words may overlap, but together with the size they
  // say exactly what the piece is.
  static std::array<uint64_t, 3> KeyOf(std::string_view piece) {
    const char* begin = piece.data();
    const size_t size = piece.size();
    if (size > 16) return {Load(begin, 8), Load(begin + 8, 8), Load(begin + size - 8, 8)};
    if (size >= 8) return {Load(begin, 8), Load(begin + size - 8, 8), 0};
    if (size >= 4) return {Load(begin, 4) | Load(begin + size - 4, 4) << 32, 0, 0};
    return {Load(begin, 1) | Load(begin + size / 2, 1) << 8 | Load(begin + size - 1, 1) << 16, 0,
            0};
  }

  static size_t SlotOf(const std::array<uint64_t, 3>& key, size_t size) {
    constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15U;
    uint64_t hash = (key[0] + size) * kMultiplier;
    hash = (std::rotl(hash, 23) ^ key[1]) * kMultiplier;
    hash = (std::rotl(hash, 23) ^ key[2]) * kMultiplier;
    return static_cast<size_t>(hash >> 49);
  }
  static_assert(kEntries == size_t{1} << (64 - 49));

  std::vector<Entry> entries_;
};

}  // namespace aster::text
