// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reads full pages outside of memory (on disk) as KV chunks (chunk.h), for a node that knows the
// prefix. Needs neither a model nor memory for pages. Must not know sequences, nor where the pages
// are.
#pragma once

#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "kv/layout.h"

namespace aster::kv {

// Outlives what points to it. Called by one thread at a time.
class PageChunks {
 public:
  virtual ~PageChunks() = default;

  // The layers for which there is a page that ends with this prefix, as far as is known without
  // reading it.
  virtual std::vector<LayerRange> LayersOf(const Hash128& prefix_at_end) = 0;
  // The page as a KV chunk of these layers, which must be within one of those ranges. After an
  // error LayersOf does not name it any more.
  virtual Result<std::vector<uint8_t>> ReadChunk(const Hash128& prefix_at_end,
                                                 LayerRange layers) = 0;
};

}  // namespace aster::kv
