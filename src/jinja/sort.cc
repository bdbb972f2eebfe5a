// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/sort.h"

#include <iterator>
#include <span>

#include "jinja/compare.h"

namespace aster::jinja {
namespace {

// Merges the sorted halves of `entries`. Not the standard library's, as comparisons may fail.
Status Merge(Runtime& runtime, std::span<Keyed> entries, size_t middle, bool reverse,
             std::vector<Keyed>& scratch) {
  scratch.assign(std::make_move_iterator(entries.begin()),
                 std::make_move_iterator(entries.begin() + static_cast<ptrdiff_t>(middle)));
  size_t left = 0;
  size_t right = middle;
  size_t out = 0;
  while (left < scratch.size() && right < entries.size()) {
    TRY(runtime.Charge());
    // The right one goes first only if it has to.
    const bool take_right =
        reverse ? TRY(Ordered(runtime, Order::kLess, scratch[left].key, entries[right].key))
                : TRY(Ordered(runtime, Order::kLess, entries[right].key, scratch[left].key));
    entries[out++] = std::move(take_right ? entries[right++] : scratch[left++]);
  }
  while (left < scratch.size()) entries[out++] = std::move(scratch[left++]);
  return Ok();
}

Status Sort(Runtime& runtime, std::span<Keyed> entries, bool reverse, std::vector<Keyed>& scratch) {
  if (entries.size() < 2) return Ok();
  const size_t middle = entries.size() / 2;
  TRY(Sort(runtime, entries.subspan(0, middle), reverse, scratch));
  TRY(Sort(runtime, entries.subspan(middle), reverse, scratch));
  return Merge(runtime, entries, middle, reverse, scratch);
}

}  // namespace

Status SortByKey(Runtime& runtime, std::vector<Keyed>& entries, bool reverse) {
  std::vector<Keyed> scratch;
  return Sort(runtime, entries, reverse, scratch);
}

}  // namespace aster::jinja
