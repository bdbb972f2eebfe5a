// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The KV cache of a model of a known architecture: the layout of its keys and values in pages, made
// of the kernels' own. Must not know sequences.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "base/result.h"
#include "kernels/latent.h"
#include "kernels/pages.h"
#include "kv/layout.h"
#include "model/parts/group_part.h"
#include "model/shape/shape.h"

namespace aster::model {

struct MemoryOptions {
  kernels::KvType type = kernels::KvType::kF16;
  uint32_t window = 0;  // positions that a row sees, itself included; 0: all
  uint32_t sinks = 0;   // and the first of all
  // Where the model was trained with rows of few bits: rows of f16 all the same.
  bool plain_rows = false;

  bool operator==(const MemoryOptions&) const = default;
};

// Streams of a layer whose rows are keys and values at once (DeepSeek V4), in the layout's order.
inline constexpr uint32_t kWindowStream = 0;
// Of layers that keep compressed rows:
inline constexpr uint32_t kFarStream = 1;
// Those of V4 have what the rows are made of, values and then scores; and with an index its rows,
// and what these are made of.
inline constexpr uint32_t kFarInputStream = 2;
inline constexpr uint32_t kIndexStream = 3;
inline constexpr uint32_t kIndexInputStream = 4;
// Those of V4.1 that keep some have an index's, too; those that make rows of two tokens, what these
// are made of; and layers with n-grams the classes of tokens.
inline constexpr uint32_t kSharedIndexStream = 2;
inline constexpr uint32_t kSharedInputStream = 3;
uint32_t NgramStreamOf(const Shape& shape, uint32_t layer);

// The stream of a layer whose heads share a row (MLA).
inline constexpr uint32_t kMlaStream = 0;
// With an index of those rows:
inline constexpr uint32_t kMlaIndexStream = 1;
kernels::LatentFormat MlaRowFormat(const Shape& shape);
kernels::LatentFormat MlaIndexFormat(const Shape& shape);

// Of a layer that keeps states in place of keys and values: those behind every page, and what
// tokens bring to them (kernels/delta_net.h).
inline constexpr uint32_t kStateStream = 0;
inline constexpr uint32_t kStateInputStream = 1;

// How rows of DeepSeek V4 are written, the compressed ones, and those of the index.
kernels::LatentFormat RowFormat(const Shape& shape, const MemoryOptions& memory);
kernels::LatentFormat FarFormat(const Shape& shape, const MemoryOptions& memory);
kernels::LatentFormat IndexFormat(const Shape& shape, const MemoryOptions& memory);

// The options, with the model's own sliding window where that is narrower. (A model that was
// trained with one never saw sinks before it.) Where only some layers have a window, the options
// stay as they are: MemoryOfLayer narrows them.
MemoryOptions Narrowed(const MemoryOptions& options, const Shape& shape);

// What of the options counts for a layer, where not all layers have the model's window.
MemoryOptions MemoryOfLayer(const MemoryOptions& options, const Shape& shape, uint32_t layer);

// Pages of one key-value head.
kernels::PageLayout HeadPageLayout(const Shape& shape, uint32_t layer, kernels::KvType type);

// The columns of every row that a part of a group has: its own heads; or whole rows, where all
// heads need them.
kv::Columns ColumnsOf(const GroupPart& part, const Shape& shape);

// `fingerprint` names the model. Plain attention has one stream per layer; its page is the pages of
// all key-value heads, one after the other. A part of a group has its own heads only, as columns of
// the rows, which are named as the whole's.
Result<kv::Layout> MakeMemoryLayout(const Shape& shape, const MemoryOptions& options,
                                    const Hash128& fingerprint, const GroupPart& part = {});

}  // namespace aster::model
