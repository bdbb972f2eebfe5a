// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which page files a folder has, in memory: found by prefix, and in the order in which they may go.
// Must not know files' contents, nor threads.
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
  int64_t used_ns = 0;  // when it was written or read last
};

// Not for concurrent use.
class PageIndex {
 public:
  // Replaces what has that name.
  void Add(const IndexedFile& file);
  // False where it is not there.
  bool Remove(const PageFileName& name);
  void Touch(const PageFileName& name, int64_t used_ns);

  bool Contains(const PageFileName& name) const;
  // A file with whole rows of this layer that end at this prefix; nothing if there is none.
  std::optional<PageFileName> Find(const Hash128& prefix_at_end, uint32_t layer) const;
  // Files that have these columns of the rows together: one if possible; none where columns are
  // missing.
  std::vector<PageFileName> Find(const Hash128& prefix_at_end, uint32_t layer,
                                 const kv::Columns& columns) const;

  // Of all files with whole rows that end at this prefix: their layers.
  std::vector<kv::LayerRange> LayersOf(const Hash128& prefix_at_end) const;

  uint64_t total_bytes() const { return total_bytes_; }
  size_t size() const { return count_; }

  // The files to evict so that at most this many bytes are left: least recently used first. A file
  // counts as used when any file that continues it was, and of files that count alike the end of a
  // history goes first. So no file is left without the one that it continues.
  std::vector<PageFileName> Oldest(uint64_t bytes_to_leave) const;

 private:
  // Of the same prefix there are as many files as there are ways in which layers were shared out.
  using Files = std::vector<IndexedFile>;

  std::unordered_map<Hash128, Files, PrefixHasher> by_prefix_;
  uint64_t total_bytes_ = 0;
  size_t count_ = 0;
};

}  // namespace aster::disk
