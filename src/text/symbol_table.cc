// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/symbol_table.h"

#include <random>

#include "base/hash.h"

namespace aster::text {

SymbolTable::SymbolTable() : seed_(std::random_device()()), slots_(64, kNoSymbol) {}

size_t SymbolTable::SlotOf(std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = Hash64Of(AsBytes(text), seed_) & mask;
  while (slots_[slot] != kNoSymbol && pool_[slots_[slot]] != text) slot = (slot + 1) & mask;
  return slot;
}

Symbol SymbolTable::Find(std::string_view text) const { return slots_[SlotOf(text)]; }

Symbol SymbolTable::Intern(std::string_view text) {
  const size_t slot = SlotOf(text);
  if (slots_[slot] != kNoSymbol) return slots_[slot];
  const Symbol symbol = pool_.size();
  pool_.Add(text);
  slots_[slot] = symbol;
  if (size_t{pool_.size()} * 2 > slots_.size()) Grow();
  return symbol;
}

void SymbolTable::Grow() {
  slots_.assign(slots_.size() * 2, kNoSymbol);
  for (Symbol symbol = 0; symbol < pool_.size(); ++symbol) slots_[SlotOf(pool_[symbol])] = symbol;
}

}  // namespace aster::text
