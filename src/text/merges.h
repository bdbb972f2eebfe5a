// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which two neighbouring symbols become one, and in which order: the core of every kind of
// byte-pair encoding. Must not know the meaning of symbols.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/symbol_table.h"

namespace aster::text {

struct Merge {
  uint32_t rank = UINT32_MAX;  // lower ranks merge first; of equal ranks the leftmost
  Symbol result = kNoSymbol;

  bool exists() const { return result != kNoSymbol; }
};

// From pairs of symbols to merges. Constant once it is filled.
class MergeTable {
 public:
  MergeTable();

  // If a pair has two merges, the first one counts.
  void Add(Symbol left, Symbol right, Merge merge);
  // The merge of the pair; one that does not exist if there is none.
  Merge Find(Symbol left, Symbol right) const { return slots_[SlotOf(KeyOf(left, right))].merge; }
  size_t size() const { return size_; }

 private:
  struct Slot {
    uint64_t key = kFree;
    Merge merge;
  };
  // The pair of kNoSymbol with itself, which is never added.
  static constexpr uint64_t kFree = UINT64_MAX;

  static uint64_t KeyOf(Symbol left, Symbol right) { return uint64_t{left} << 32 | right; }
  size_t SlotOf(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    // The two halves of the product together depend on every bit of the key.
    const auto product = static_cast<unsigned __int128>(key ^ seed_) * 0x9E3779B97F4A7C15U;
    size_t slot = (static_cast<size_t>(product >> 64) ^ static_cast<size_t>(product)) & mask;
    while (slots_[slot].key != key && slots_[slot].key != kFree) slot = (slot + 1) & mask;
    return slot;
  }
  void Grow();

  const uint64_t seed_;  // as SymbolTable's
  size_t size_ = 0;
  std::vector<Slot> slots_;  // a power of two of them, at most half in use, searched in order
};

// Possible merges, the next one first: a heap with four children per node, which has fewer cache
// misses than a binary one. Not for concurrent use.
class MergeQueue {
 public:
  struct Candidate {
    uint32_t rank;
    uint32_t left;  // index of the left symbol
  };

  bool empty() const { return keys_.empty(); }
  void clear() { keys_.clear(); }
  void Push(Candidate candidate);
  Candidate Pop();
  // Frees memory beyond `count` candidates.
  void Trim(size_t count);

 private:
  static constexpr size_t kChildren = 4;

  std::vector<uint64_t> keys_;  // the rank in the upper half, so that smaller keys come first
};

// Memory for merging, kept between calls. Not for concurrent use.
class MergeWorkspace {
 public:
  // Merges the symbols of a piece of text until nothing merges any more. The time is at most n log
  // n in their number.
  void MergeAll(const MergeTable& table, std::vector<Symbol>& symbols);

  // Frees the memory of a long piece.
  void Trim();

 private:
  void MergeFew(const MergeTable& table, std::vector<Symbol>& symbols);
  void MergeMany(const MergeTable& table, std::vector<Symbol>& symbols);

  std::vector<Merge> pairs_;        // for MergeFew: [i] joins symbols i and i + 1
  MergeQueue queue_;                // for MergeMany, like these:
  std::vector<uint32_t> previous_;  // index of the symbol before; kNoIndex for the first
  std::vector<uint32_t> next_;      // index of the next; kNoIndex for the last
};

}  // namespace aster::text
