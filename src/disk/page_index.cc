// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "disk/page_index.h"

#include <algorithm>

namespace aster::disk {

void PageIndex::Add(const IndexedFile& file) {
  Remove(file.name);
  by_prefix_[file.name.prefix_at_end].push_back(file);
  total_bytes_ += file.bytes;
  ++count_;
}

bool PageIndex::Remove(const PageFileName& name) {
  const auto found = by_prefix_.find(name.prefix_at_end);
  if (found == by_prefix_.end()) return false;
  Files& files = found->second;
  const auto file = std::ranges::find(files, name, &IndexedFile::name);
  if (file == files.end()) return false;
  total_bytes_ -= file->bytes;
  --count_;
  files.erase(file);
  if (files.empty()) by_prefix_.erase(found);
  return true;
}

void PageIndex::Touch(const PageFileName& name, int64_t used_ns) {
  const auto found = by_prefix_.find(name.prefix_at_end);
  if (found == by_prefix_.end()) return;
  for (IndexedFile& file : found->second) {
    if (file.name == name) file.used_ns = std::max(file.used_ns, used_ns);
  }
}

bool PageIndex::Contains(const PageFileName& name) const {
  const auto found = by_prefix_.find(name.prefix_at_end);
  return found != by_prefix_.end() &&
         std::ranges::find(found->second, name, &IndexedFile::name) != found->second.end();
}

std::optional<PageFileName> PageIndex::Find(const Hash128& prefix_at_end, uint32_t layer) const {
  const auto found = by_prefix_.find(prefix_at_end);
  if (found == by_prefix_.end()) return std::nullopt;
  for (const IndexedFile& file : found->second) {
    if (!file.name.layers.Contains({layer, layer + 1})) continue;
    if (file.name.columns.is_whole()) return file.name;
  }
  return std::nullopt;
}

std::vector<PageFileName> PageIndex::Find(const Hash128& prefix_at_end, uint32_t layer,
                                          const kv::Columns& columns) const {
  const auto found = by_prefix_.find(prefix_at_end);
  if (found == by_prefix_.end()) return {};
  std::vector<const PageFileName*> parts;
  for (const IndexedFile& file : found->second) {
    if (!file.name.layers.Contains({layer, layer + 1})) continue;
    if (file.name.columns.Contains(columns)) return {file.name};
    parts.push_back(&file.name);
  }
  if (parts.empty()) return {};
  // Whole rows are all columns of any division.
  const uint32_t count = columns.is_whole() ? parts.front()->columns.count : columns.count;
  const uint32_t end = columns.is_whole() ? count : columns.end;
  std::vector<PageFileName> chain;
  for (uint32_t next = columns.is_whole() ? 0 : columns.begin; next < end;) {
    const PageFileName* longest = nullptr;
    for (const PageFileName* const part : parts) {
      const kv::Columns& of = part->columns;
      const bool goes_on = of.count == count && of.begin <= next && of.end > next;
      if (goes_on && (longest == nullptr || of.end > longest->columns.end)) longest = part;
    }
    if (longest == nullptr) return {};
    chain.push_back(*longest);
    next = longest->columns.end;
  }
  return chain;
}

std::vector<kv::LayerRange> PageIndex::LayersOf(const Hash128& prefix_at_end) const {
  std::vector<kv::LayerRange> ranges;
  const auto found = by_prefix_.find(prefix_at_end);
  if (found == by_prefix_.end()) return ranges;
  for (const IndexedFile& file : found->second) {
    if (file.name.columns.is_whole()) ranges.push_back(file.name.layers);
  }
  return ranges;
}

std::vector<PageFileName> PageIndex::Oldest(uint64_t bytes_to_leave) const {
  std::vector<const IndexedFile*> files;
  files.reserve(count_);
  for (const auto& [prefix, of_prefix] : by_prefix_) {
    for (const IndexedFile& file : of_prefix) files.push_back(&file);
  }
  // The ends of histories first, so that a file's value is final when it is passed on to the one
  // before.
  std::ranges::sort(
      files, [](const IndexedFile* a, const IndexedFile* b) { return a->name.end > b->name.end; });
  std::unordered_map<Hash128, int64_t, PrefixHasher> used_after;  // uses of what continues it
  std::vector<std::pair<int64_t, const IndexedFile*>> ranked;
  ranked.reserve(files.size());
  for (const IndexedFile* file : files) {
    int64_t used_ns = file->used_ns;
    if (const auto later = used_after.find(file->name.prefix_at_end); later != used_after.end()) {
      used_ns = std::max(used_ns, later->second);
    }
    int64_t& before = used_after.try_emplace(file->name.prefix_at_begin, used_ns).first->second;
    before = std::max(before, used_ns);
    ranked.emplace_back(used_ns, file);
  }
  // Stable: of equal ones, the end still comes first.
  std::ranges::stable_sort(ranked, {}, &std::pair<int64_t, const IndexedFile*>::first);
  std::vector<PageFileName> oldest;
  uint64_t left_bytes = total_bytes_;
  for (const auto& [used_ns, file] : ranked) {
    if (left_bytes <= bytes_to_leave) break;
    left_bytes -= file->bytes;
    oldest.push_back(file->name);
  }
  return oldest;
}

}  // namespace aster::disk
