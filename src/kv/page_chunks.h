// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Full pages that a place outside of memory can give away as KV chunks (chunk.h), to a node that
// knows the prefix: without a model, and without memory for them. Must not know sequences, nor
// where the place is.
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

  // The layers in which the page that ends with this prefix is there, as far as that is known
  // without reading it.
  virtual std::vector<LayerRange> LayersOf(const Hash128& prefix_at_end) = 0;
  // A KV chunk from the page's beginning to its end, of these layers, which are within one of those
  // ranges. An error where it could not be had; it is no longer said to be there then.
  virtual Result<std::vector<uint8_t>> ReadChunk(const Hash128& prefix_at_end,
                                                 LayerRange layers) = 0;
};

}  // namespace aster::kv
