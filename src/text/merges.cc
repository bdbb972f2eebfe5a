// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/merges.h"

#include <algorithm>
#include <random>

#include "base/check.h"

namespace aster::text {
namespace {

constexpr uint32_t kNoIndex = UINT32_MAX;

// Up to here looking at every pair for the best is faster than a heap.
constexpr size_t kFewSymbols = 40;

// What a workspace keeps between calls, in symbols.
constexpr size_t kKeptSymbols = 1 << 16;

template <typename T>
void TrimVector(std::vector<T>& vector) {
  if (vector.capacity() > kKeptSymbols) std::vector<T>().swap(vector);
}

}  // namespace

MergeTable::MergeTable() : seed_(std::random_device()()), slots_(64) {}

void MergeTable::Add(Symbol left, Symbol right, Merge merge) {
  CHECK(left != kNoSymbol && right != kNoSymbol && merge.exists());
  const uint64_t key = KeyOf(left, right);
  Slot& slot = slots_[SlotOf(key)];
  if (slot.key == key) return;
  slot = {key, merge};
  if (++size_ * 2 > slots_.size()) Grow();
}

void MergeTable::Grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.key != kFree) slots_[SlotOf(slot.key)] = slot;
  }
}

void MergeWorkspace::MergeAll(const MergeTable& table, std::vector<Symbol>& symbols) {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kFewSymbols) {
    MergeFew(table, symbols);
  } else {
    MergeMany(table, symbols);
  }
}

void MergeWorkspace::MergeFew(const MergeTable& table, std::vector<Symbol>& symbols) {
  const auto find = [&](size_t left) { return table.Find(symbols[left], symbols[left + 1]); };
  pairs_.clear();
  for (size_t i = 0; i + 1 < symbols.size(); ++i) pairs_.push_back(find(i));
  for (;;) {
    const auto best = std::ranges::min_element(pairs_, {}, &Merge::rank);
    if (best == pairs_.end() || !best->exists()) return;
    const auto left = static_cast<size_t>(best - pairs_.begin());
    symbols[left] = best->result;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(left) + 1);
    pairs_.erase(best);
    if (left > 0) pairs_[left - 1] = find(left - 1);
    if (left < pairs_.size()) pairs_[left] = find(left);
  }
}

void MergeWorkspace::Note(const MergeTable& table, std::span<const Symbol> symbols, uint32_t left) {
  if (left == kNoIndex || next_[left] == kNoIndex) return;
  const Symbol left_symbol = symbols[left];
  const Symbol right_symbol = symbols[next_[left]];
  const Merge merge = table.Find(left_symbol, right_symbol);
  if (merge.exists()) heap_.push_back({merge.rank, left, left_symbol, right_symbol});
}

void MergeWorkspace::MergeMany(const MergeTable& table, std::vector<Symbol>& symbols) {
  CHECK(symbols.size() < kNoIndex);
  const auto count = static_cast<uint32_t>(symbols.size());
  previous_.resize(count);
  next_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    previous_[i] = i == 0 ? kNoIndex : i - 1;
    next_[i] = i + 1 == count ? kNoIndex : i + 1;
  }
  heap_.clear();
  for (uint32_t i = 0; i < count; ++i) Note(table, symbols, i);
  std::make_heap(heap_.begin(), heap_.end());

  const auto note_and_push = [&](uint32_t left) {
    const size_t before = heap_.size();
    Note(table, symbols, left);
    if (heap_.size() > before) std::push_heap(heap_.begin(), heap_.end());
  };
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Candidate best = heap_.back();
    heap_.pop_back();
    const uint32_t left = best.left;
    if (symbols[left] != best.left_symbol || next_[left] == kNoIndex) continue;
    const uint32_t right = next_[left];
    if (symbols[right] != best.right_symbol) continue;

    symbols[left] = table.Find(best.left_symbol, best.right_symbol).result;
    symbols[right] = kNoSymbol;
    next_[left] = next_[right];
    if (next_[left] != kNoIndex) previous_[next_[left]] = left;
    note_and_push(previous_[left]);
    note_and_push(left);
  }

  size_t kept = 0;
  for (uint32_t i = 0; i != kNoIndex; i = next_[i]) symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

void MergeWorkspace::Trim() {
  TrimVector(pairs_);
  TrimVector(heap_);
  TrimVector(previous_);
  TrimVector(next_);
}

}  // namespace aster::text
