// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/symbol_table.h"

#include "base/hash.h"
#include "base/random.h"

namespace aster::text {

SymbolTable::SymbolTable() : seed_(SystemSeed()), slots_(64) {}

uint64_t SymbolTable::HashOf(std::string_view text) const { return Hash64Of(AsBytes(text), seed_); }

size_t SymbolTable::SlotOf(std::string_view text, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  const auto upper = static_cast<uint32_t>(hash >> 32);
  for (size_t place = hash & mask;; place = (place + 1) & mask) {
    const Slot& slot = slots_[place];
    if (slot.symbol == kNoSymbol) return place;
    if (slot.hash == upper && pool_[slot.symbol] == text) return place;
  }
}

Symbol SymbolTable::Find(std::string_view text) const {
  return slots_[SlotOf(text, HashOf(text))].symbol;
}

Symbol SymbolTable::Intern(std::string_view text) {
  const uint64_t hash = HashOf(text);
  Slot& slot = slots_[SlotOf(text, hash)];
  if (slot.symbol != kNoSymbol) return slot.symbol;
  const Symbol symbol = pool_.size();
  pool_.Add(text);
  slot = {static_cast<uint32_t>(hash >> 32), symbol};
  if (size_t{pool_.size()} * 2 > slots_.size()) Grow();
  return symbol;
}

void SymbolTable::Grow() {
  slots_.assign(slots_.size() * 2, {});
  for (Symbol symbol = 0; symbol < pool_.size(); ++symbol) {
    const uint64_t hash = HashOf(pool_[symbol]);
    slots_[SlotOf(pool_[symbol], hash)] = {static_cast<uint32_t>(hash >> 32), symbol};
  }
}

}  // namespace aster::text
