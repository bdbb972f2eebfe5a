// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The page files of a folder, in memory: found by prefix, and in the order of eviction. Must not
// know files' contents, nor threads.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "disk/page_file_name.h"

namespace aster::disk {

struct IndexedFile {
  PageFileName name;
  uint64_t bytes = 0;
  int64_t used_ns = 0;  // when it was last written or read
};

// Not for concurrent use.
class PageIndex {
 public:
  // Replaces a file with that name.
  void Add(const IndexedFile& file);
  // False if there is none.
  bool Remove(const PageFileName& name);
  void Touch(const PageFileName& name, int64_t used_ns);

  bool Contains(const PageFileName& name) const;
  // A file with whole rows of this layer that end at this prefix; nullopt if there is none.
  std::optional<PageFileName> Find(const Hash128& prefix_at_end, uint32_t layer) const;
  // Files that together have these columns of the rows: one if possible; empty if columns are
  // missing.
  std::vector<PageFileName> Find(const Hash128& prefix_at_end, uint32_t layer,
                                 const kv::Columns& columns) const;

  // The layers of all files with whole rows that end at this prefix.
  std::vector<kv::LayerRange> LayersOf(const Hash128& prefix_at_end) const;

  uint64_t total_bytes() const { return total_bytes_; }
  size_t size() const { return count_; }

  // The files to evict so that at most this many bytes are left: least recently used first. A file
  // counts as used when any file that continues it was, and of equal ones the end of a history goes
  // first. So no file remains without the one that it continues.
  std::vector<PageFileName> Oldest(uint64_t bytes_to_leave) const;

 private:
  // A prefix has as many files as there are divisions of the layers.
  using Files = std::vector<IndexedFile>;

  std::unordered_map<Hash128, Files, PrefixHasher> by_prefix_;
  uint64_t total_bytes_ = 0;
  size_t count_ = 0;
};

}  // namespace aster::disk
