// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/merges.h"

#include <algorithm>

#include "base/check.h"
#include "base/random.h"

namespace aster::text {
namespace {

constexpr uint32_t kNoIndex = UINT32_MAX;

// Up to this number, comparing all pairs is faster than a heap.
constexpr size_t kFewSymbols = 40;

// The memory that a workspace keeps between calls, in symbols.
constexpr size_t kKeptSymbols = 1 << 16;

template <typename T>
void TrimVector(std::vector<T>& vector, size_t kept) {
  if (vector.capacity() > kept) std::vector<T>().swap(vector);
}

}  // namespace

MergeTable::MergeTable() : seed_(SystemSeed()), slots_(64) {}

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

void MergeQueue::Push(Candidate candidate) {
  const uint64_t key = uint64_t{candidate.rank} << 32 | candidate.left;
  size_t place = keys_.size();
  keys_.push_back(key);
  while (place > 0) {
    const size_t parent = (place - 1) / kChildren;
    if (keys_[parent] <= key) break;
    keys_[place] = keys_[parent];
    place = parent;
  }
  keys_[place] = key;
}

// The last key fills the gap at the root and moves down past smaller children.
MergeQueue::Candidate MergeQueue::Pop() {
  const uint64_t first = keys_.front();
  const uint64_t last = keys_.back();
  keys_.pop_back();
  size_t place = 0;
  for (;;) {
    const size_t child = place * kChildren + 1;
    if (child >= keys_.size()) break;
    size_t least = child;
    const size_t end = std::min(child + kChildren, keys_.size());
    for (size_t i = child + 1; i < end; ++i) {
      if (keys_[i] < keys_[least]) least = i;
    }
    if (keys_[least] >= last) break;
    keys_[place] = keys_[least];
    place = least;
  }
  if (!keys_.empty()) keys_[place] = last;
  return {static_cast<uint32_t>(first >> 32), static_cast<uint32_t>(first)};
}

void MergeQueue::Trim(size_t count) { TrimVector(keys_, count); }

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

void MergeWorkspace::MergeMany(const MergeTable& table, std::vector<Symbol>& symbols) {
  CHECK(symbols.size() < kNoIndex);
  const auto count = static_cast<uint32_t>(symbols.size());
  previous_.resize(count);
  next_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    previous_[i] = i == 0 ? kNoIndex : i - 1;
    next_[i] = i + 1 == count ? kNoIndex : i + 1;
  }
  const auto find = [&](uint32_t left) {
    if (left == kNoIndex || next_[left] == kNoIndex) return Merge();
    return table.Find(symbols[left], symbols[next_[left]]);
  };
  const auto note = [&](uint32_t left) {
    const Merge merge = find(left);
    if (merge.exists()) queue_.Push({merge.rank, left});
  };
  queue_.clear();
  for (uint32_t i = 0; i < count; ++i) note(i);
  while (!queue_.empty()) {
    const auto [rank, left] = queue_.Pop();
    // The symbols may have changed since this was added. If the current ones merge with the same
    // rank, it is also their turn.
    const Merge merge = find(left);
    if (!merge.exists() || merge.rank != rank) continue;
    const uint32_t right = next_[left];
    symbols[left] = merge.result;
    symbols[right] = kNoSymbol;
    next_[left] = next_[right];
    next_[right] = kNoIndex;
    if (next_[left] != kNoIndex) previous_[next_[left]] = left;
    note(previous_[left]);
    note(left);
  }

  size_t kept = 0;
  for (uint32_t i = 0; i != kNoIndex; i = next_[i]) symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

void MergeWorkspace::Trim() {
  TrimVector(pairs_, kKeptSymbols);
  queue_.Trim(kKeptSymbols);
  TrimVector(previous_, kKeptSymbols);
  TrimVector(next_, kKeptSymbols);
}

}  // namespace aster::text
