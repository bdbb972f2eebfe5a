// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Characters as tokenizers see them: decoded from any bytes, with the properties that
// pre-tokenizers use. Must not know any tokenizer.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/utf8.h"

namespace aster::text {

// Properties of a character, as bits. Every character has kAny: no bits mean no character.
enum Trait : uint16_t {
  kAny = 1 << 0,
  kLetter = 1 << 1,       // general category L
  kMark = 1 << 2,         // M
  kNumber = 1 << 3,       // N
  kPunctuation = 1 << 4,  // P
  kSymbol = 1 << 5,       // S
  kSpace = 1 << 6,        // White_Space
  kNewline = 1 << 7,      // carriage return and line feed
  kCapital = 1 << 8,      // Lu, Lt
  kSmall = 1 << 9,        // Ll
  kDigit = 1 << 10,       // Nd
  kWord = 1 << 11,        // \w: L, M, Nd, Nl, Pc and the joiners
  kHan = 1 << 12,         // Script=Han
};

// A byte that is not part of well-formed UTF-8 is a separate character, equal to U+FFFD.
struct Character {
  char32_t code = 0;
  uint16_t traits = 0;
  uint16_t size_bytes = 0;

  bool Is(unsigned any_of) const { return (traits & any_of) != 0; }
  // False beyond the end of the text.
  bool exists() const { return traits != 0; }
};

inline constexpr char32_t kLastCodePoint = 0x10FFFF;

// The traits of all code points, in Unicode 15.1. One per program, safe for concurrent use. A block
// is computed when a character of it is first met: a text has those of few, and the whole table
// takes longer than all else that a short command does.
class TraitTable {
 public:
  static const TraitTable& Get();

  uint16_t operator[](char32_t code) const {
    const Block* block = blocks_[code / kBlock].load(std::memory_order_acquire);
    if (block == nullptr) block = Compute(code / kBlock);
    return (*block)[code % kBlock];
  }

 private:
  static constexpr size_t kBlock = 256;
  using Block = std::array<uint16_t, kBlock>;

  TraitTable() = default;

  const Block* Compute(size_t index) const EXCLUDES(mu_);

  mutable std::array<std::atomic<const Block*>, (kLastCodePoint + 1) / kBlock> blocks_{};
  mutable Mutex mu_;
  mutable std::vector<std::unique_ptr<const Block>> computed_ GUARDED_BY(mu_);
};

// The first character of a text that is not empty; traits are left 0.
inline Character FirstCharacter(std::string_view text) {
  const Utf8Step step = DecodeUtf8(text);
  if (!step.valid) return {kReplacementCharacter, 0, 1};
  return {step.code_point, 0, static_cast<uint16_t>(step.size)};
}

// A piece of a text. Nothing after its end is visible, so lookaheads end there, too. A view.
class Piece {
 public:
  Piece(std::string_view text, size_t begin, size_t end)
      : table_(&TraitTable::Get()), data_(text.data()), begin_(begin), end_(end) {}

  // Another part of the same text.
  Piece Sub(size_t begin, size_t end) const {
    Piece sub = *this;
    sub.begin_ = begin;
    sub.end_ = end;
    return sub;
  }

  size_t begin() const { return begin_; }
  size_t end() const { return end_; }
  std::string_view text() const { return {data_ + begin_, end_ - begin_}; }

  // The character at a byte position; no traits at the end and beyond.
  Character At(size_t position) const {
    if (position >= end_) return {};
    const auto byte = static_cast<unsigned char>(data_[position]);
    if (byte < 0x80) return {byte, (*table_)[byte], 1};
    Character character = FirstCharacter({data_ + position, end_ - position});
    character.traits = (*table_)[character.code];
    return character;
  }

  // The first position from `position` on whose character has none of the traits.
  size_t SkipAll(size_t position, unsigned traits) const {
    for (;;) {
      const Character character = At(position);
      if (!character.Is(traits)) return position;
      position += character.size_bytes;
    }
  }

 private:
  const TraitTable* table_;
  const char* data_;
  size_t begin_;
  size_t end_;
};

}  // namespace aster::text
