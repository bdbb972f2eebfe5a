// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace aster::text {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

bool Contains(std::span<const Range> ranges, char32_t code) {
  return std::ranges::any_of(
      ranges, [code](const Range& range) { return range.first <= code && code <= range.last; });
}

// Script=Han. utf8proc does not have scripts; a test compares this with PCRE2.
constexpr Range kHanRanges[] = {
    {0x2E80, 0x2E99},   {0x2E9B, 0x2EF3},   {0x2F00, 0x2FD5},   {0x3005, 0x3005},
    {0x3007, 0x3007},   {0x3021, 0x3029},   {0x3038, 0x303B},   {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},   {0xF900, 0xFA6D},   {0xFA70, 0xFAD9},   {0x16FE2, 0x16FE3},
    {0x16FF0, 0x16FF1}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B739}, {0x2B740, 0x2B81D},
    {0x2B820, 0x2CEA1}, {0x2CEB0, 0x2EBE0}, {0x2EBF0, 0x2EE5D}, {0x2F800, 0x2FA1D},
    {0x30000, 0x3134A}, {0x31350, 0x323AF},
};

// White_Space.
constexpr Range kSpaceRanges[] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
};

// New in Unicode 15.1; utf8proc 2.8 has 15.0.
constexpr Range kNewSymbols[] = {{0x2FFC, 0x2FFF}, {0x31EF, 0x31EF}};
constexpr Range kNewLetters[] = {{0x2EBF0, 0x2EE5D}};

unsigned CategoryTraits(char32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return kLetter | kWord | kCapital;
    case UTF8PROC_CATEGORY_LL:
      return kLetter | kWord | kSmall;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kLetter | kWord;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return kMark | kWord;
    case UTF8PROC_CATEGORY_ND:
      return kNumber | kWord | kDigit;
    case UTF8PROC_CATEGORY_NL:
      return kNumber | kWord;
    case UTF8PROC_CATEGORY_NO:
      return kNumber;
    case UTF8PROC_CATEGORY_PC:
      return kPunctuation | kWord;
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return kPunctuation;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
      return kSymbol;
    case UTF8PROC_CATEGORY_CN:
      if (Contains(kNewLetters, code)) return kLetter | kWord;
      return Contains(kNewSymbols, code) ? kSymbol : 0;
    default:
      return 0;
  }
}

uint16_t TraitsOf(char32_t code) {
  unsigned traits = kAny | CategoryTraits(code);
  if (Contains(kSpaceRanges, code)) traits |= kSpace;
  if (code == '\r' || code == '\n') traits |= kNewline;
  if (code == 0x200C || code == 0x200D) traits |= kWord;
  if (Contains(kHanRanges, code)) traits |= kHan;
  return static_cast<uint16_t>(traits);
}

}  // namespace

const TraitTable::Block* TraitTable::Compute(size_t index) const {
  const MutexLock lock(mu_);
  std::atomic<const Block*>& block = blocks_[index];
  if (block.load() != nullptr) return block.load();  // another thread was faster
  auto traits = std::make_unique<Block>();
  for (size_t i = 0; i < kBlock; ++i)
    (*traits)[i] = TraitsOf(static_cast<char32_t>(index * kBlock + i));
  block.store(traits.get(), std::memory_order_release);
  computed_.push_back(std::move(traits));
  return block.load();
}

const TraitTable& TraitTable::Get() {
  static const TraitTable table;
  return table;
}

}  // namespace aster::text
