// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A second tier for full pages, below the pool's memory: slower, larger, and kept for longer. It
// may drop any page at any time. Must not know sequences, nor where the tier is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/hash.h"
#include "kv/layout.h"
#include "kv/page_codec.h"
#include "kv/pool.h"

namespace aster::kv {

// A page in memory that a store copies or fills.
struct StoredPage {
  uint32_t layer = 0;
  uint32_t stream = 0;
  std::shared_ptr<const PageCodec> codec;
  uint8_t* data = nullptr;  // as the codec has it; not owned
  uint32_t first_row = 0;   // those before it are not needed
};

// The full pages of the same positions in some layers: those of all streams with rows that are
// needed at their end.
struct PageSet {
  const Layout* layout = nullptr;
  LayerRange layers;
  uint32_t begin = 0;  // positions; they end one page later
  Hash128 prefix_at_begin;
  Hash128 prefix_at_end;
  std::span<const int32_t> tokens;    // between the two
  std::span<const StoredPage> pages;  // by layer, then by stream
  bool was_refused = false;           // by an earlier Keep
};

// Called by the thread that computes: only Load may make it wait. Outlives the pools that point to
// it.
class PageStore {
 public:
  virtual ~PageStore() = default;

  // Whether these columns of a page with that content can be loaded, as far as is known without
  // reading it.
  virtual bool Contains(const PageKey& key, const Columns& columns) = 0;
  // Fills these zeroed pages from their `first_row` on; all of them have this prefix at their end.
  // False if one cannot be loaded: then the pages' content is undefined, and Contains does not name
  // it any more.
  virtual bool Load(const Hash128& prefix_at_end, const Columns& columns,
                    std::span<const StoredPage> pages) = 0;
  // Copies the pages, to be written later, if it does not have them; they may still be dropped.
  // False if it cannot take more now: the caller should offer them again.
  virtual bool Keep(const PageSet& set) = 0;
};

}  // namespace aster::kv
