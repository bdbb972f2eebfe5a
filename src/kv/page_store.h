// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A second place for full pages, below the pool's memory: slower, larger, and there for longer.
// What it has may be gone, and what it is given it may drop, without a word: then it is as if
// nothing was there. Must not know sequences, nor where the place is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/hash.h"
#include "kv/layout.h"
#include "kv/page_codec.h"
#include "kv/pool.h"

namespace aster::kv {

// A page in memory that goes to a store or comes from there.
struct StoredPage {
  uint32_t layer = 0;
  uint32_t stream = 0;
  std::shared_ptr<const PageCodec> codec;
  uint8_t* data = nullptr;  // as the codec has it; not owned
  uint32_t first_row = 0;   // those before it are not needed
};

// Full pages that belong together: those of some layers, of the same positions, of all streams of
// which anything is needed at their end.
struct PageSet {
  const Layout* layout = nullptr;
  LayerRange layers;
  uint32_t begin = 0;  // positions; they end one page later
  Hash128 prefix_at_begin;
  Hash128 prefix_at_end;
  std::span<const int32_t> tokens;    // between the two
  std::span<const StoredPage> pages;  // by layer, then by stream
  bool was_refused = false;           // when it was offered before
};

// Called by the thread that computes, which must not be kept waiting by anything but reading what
// it asks for. Outlives the pools that point to it.
class PageStore {
 public:
  virtual ~PageStore() = default;

  // Whether a page with that content, with these columns of its rows, can be loaded, as far as that
  // is known without reading it.
  virtual bool Contains(const PageKey& key, const Columns& columns) = 0;
  // Fills these pages from their first rows on, which were zeros; all of them have this prefix at
  // their end. False where one could not be had: it is no longer said to be there then, and the
  // pages hold anything.
  virtual bool Load(const Hash128& prefix_at_end, const Columns& columns,
                    std::span<const StoredPage> pages) = 0;
  // Takes a copy, kept a moment later or not at all; nothing is to be done where it has them. False
  // where it cannot take more now: it is to be asked again.
  virtual bool Keep(const PageSet& set) = 0;
};

}  // namespace aster::kv
