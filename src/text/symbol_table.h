// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Byte strings, numbered from 0 in the order in which they are added, found by number and by
// content. Must not know their meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aster::text {

// Consecutive strings in one allocation.
class StringPool {
 public:
  uint32_t size() const { return static_cast<uint32_t>(ends_.size()); }
  void Add(std::string_view text) {
    characters_ += text;
    ends_.push_back(characters_.size());
  }
  std::string_view operator[](uint32_t index) const {
    const size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(characters_).substr(begin, ends_[index] - begin);
  }

 private:
  std::string characters_;
  std::vector<size_t> ends_;
};

// A piece of text that merges can produce.
using Symbol = uint32_t;
inline constexpr Symbol kNoSymbol = UINT32_MAX;

class SymbolTable {
 public:
  SymbolTable();

  uint32_t size() const { return pool_.size(); }
  std::string_view operator[](Symbol symbol) const { return pool_[symbol]; }

  // The symbol with this text, a new one if there is none yet.
  Symbol Intern(std::string_view text);
  // kNoSymbol if there is none.
  Symbol Find(std::string_view text) const;

 private:
  // A symbol with some bits of its text's hash, so that texts are rarely compared.
  struct Slot {
    uint32_t hash = 0;
    Symbol symbol = kNoSymbol;
  };

  uint64_t HashOf(std::string_view text) const;
  size_t SlotOf(std::string_view text, uint64_t hash) const;
  void Grow();

  const uint64_t seed_;  // another one in every run, so that no file can provoke collisions
  StringPool pool_;
  std::vector<Slot> slots_;  // a power of two of them, at most half in use, searched in order
};

}  // namespace aster::text
