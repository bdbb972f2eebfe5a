// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "draft/ngram_proposer.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

namespace aster::draft {
namespace {

constexpr size_t kFirstSlots = 64;

bool SameTokens(std::span<const int32_t> history, size_t end, size_t other_end, size_t size) {
  return std::ranges::equal(history.subspan(end - size, size),
                            history.subspan(other_end - size, size));
}

}  // namespace

uint64_t NgramProposer::Table::KeyAt(std::span<const int32_t> history, size_t end) const {
  const std::span<const int32_t> tokens = history.subspan(end - size_, size_);
  const uint64_t key =
      Hash64Of({reinterpret_cast<const uint8_t*>(tokens.data()), tokens.size_bytes()});
  return key == 0 ? 1 : key;  // 0 stands for a free slot
}

NgramProposer::Table::Slot& NgramProposer::Table::Find(uint64_t key) {
  const size_t mask = slots_.size() - 1;
  size_t index = key & mask;
  while (slots_[index].key != 0 && slots_[index].key != key) index = (index + 1) & mask;
  return slots_[index];
}

// Makes a table with twice as many slots as needed, without removed sequences.
void NgramProposer::Table::Grow() {
  std::vector<Slot> before = std::move(slots_);
  const auto alive = static_cast<size_t>(
      std::ranges::count_if(before, [](const Slot& slot) { return slot.end != kNone; }));
  size_t count = kFirstSlots;
  while (count < 4 * alive) count *= 2;
  slots_.assign(count, {});
  used_ = alive;
  for (const Slot& slot : before) {
    if (slot.end != kNone) Find(slot.key) = slot;
  }
}

void NgramProposer::Table::Append(std::span<const int32_t> history) {
  if (2 * (used_ + 1) > slots_.size()) Grow();
  // The slot has the newest place of these tokens; earlier_ keeps the one before it, so that Pop
  // can restore it.
  uint32_t before = kNone;
  if (history.size() >= size_) {
    Slot& slot = Find(KeyAt(history, history.size()));
    if (slot.key == 0) {
      slot.key = KeyAt(history, history.size());
      ++used_;
    }
    before = slot.end;
    slot.end = static_cast<uint32_t>(history.size());
    // Two sequences with one 64-bit key practically never meet; if they do, a draft is rejected.
    if (before != kNone && !SameTokens(history, before, history.size(), size_)) before = kNone;
  }
  earlier_.push_back(before);
}

void NgramProposer::Table::Pop(std::span<const int32_t> history) {
  if (history.size() >= size_) Find(KeyAt(history, history.size())).end = earlier_.back();
  earlier_.pop_back();
}

NgramProposer::NgramProposer(NgramOptions options) : options_(options) {
  CHECK(1 <= options.shortest && options.shortest <= options.longest &&
        options.longest <= kLongest);
  for (uint32_t size = options.longest; size >= options.shortest; --size)
    tables_.emplace_back(size);
}

void NgramProposer::Append(int32_t token) {
  CHECK(history_.size() < kNone - 1);
  history_.push_back(token);
  for (Table& table : tables_) table.Append(history_);
}

void NgramProposer::Append(std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) Append(token);
}

void NgramProposer::Rewind(size_t length) {
  CHECK(length <= history_.size());
  while (history_.size() > length) {
    for (Table& table : tables_) table.Pop(history_);
    history_.pop_back();
  }
}

std::span<const int32_t> NgramProposer::Propose() {
  drafts_.clear();
  // Proposes the tokens that followed the longest sequence that has occurred before; at the text's
  // end they repeat.
  for (const Table& table : tables_) {
    const uint32_t begin = table.earlier(history_.size());
    if (begin == kNone) continue;
    for (size_t i = begin; drafts_.size() < options_.max_tokens; ++i) {
      drafts_.push_back(i < history_.size() ? history_[i] : drafts_[i - history_.size()]);
    }
    break;
  }
  return drafts_;
}

}  // namespace aster::draft
