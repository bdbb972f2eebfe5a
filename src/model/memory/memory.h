// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The KV cache layout of models of known architectures: their keys and values in pages of the
// kernels' formats. Must not know sequences.
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
  uint32_t sinks = 0;   // first positions that it sees, too
  // Whether to keep rows as f16 even if the model was trained with rows of few bits.
  bool plain_rows = false;

  bool operator==(const MemoryOptions&) const = default;
};

// Streams of a layer whose rows are both keys and values (DeepSeek V4), in the layout's order.
inline constexpr uint32_t kWindowStream = 0;
// If the layer keeps compressed rows:
inline constexpr uint32_t kCompressedStream = 1;
// In V4 it also has their inputs, values and then scores; with an index also its rows and inputs.
inline constexpr uint32_t kCompressedInputStream = 2;
inline constexpr uint32_t kIndexStream = 3;
inline constexpr uint32_t kIndexInputStream = 4;
// In V4.1 it also has the index's rows; layers that make rows of two tokens, their inputs; and
// layers with n-grams, the classes of tokens.
inline constexpr uint32_t kSharedIndexStream = 2;
inline constexpr uint32_t kSharedInputStream = 3;
uint32_t NgramStreamOf(const Shape& shape, uint32_t layer);

// The stream of a layer whose heads share a row (MLA).
inline constexpr uint32_t kMlaStream = 0;
// With an index of those rows:
inline constexpr uint32_t kMlaIndexStream = 1;
kernels::LatentFormat MlaRowFormat(const Shape& shape);
kernels::LatentFormat MlaIndexFormat(const Shape& shape);

// Streams of a layer that keeps states in place of keys and values: the states at the end of every
// page, and the tokens' inputs to them (kernels/delta_net.h).
inline constexpr uint32_t kStateStream = 0;
inline constexpr uint32_t kStateInputStream = 1;

// Formats of DeepSeek V4's rows, of the compressed ones, and of the index's.
kernels::LatentFormat RowFormat(const Shape& shape, const MemoryOptions& memory);
kernels::LatentFormat CompressedFormat(const Shape& shape, const MemoryOptions& memory);
kernels::LatentFormat IndexFormat(const Shape& shape, const MemoryOptions& memory);

// The options, with the model's own sliding window if that is narrower. (A model that was trained
// with one never saw sinks before it.) If only some layers have a window, the options are
// unchanged: MemoryOfLayer narrows them.
MemoryOptions Narrowed(const MemoryOptions& options, const Shape& shape);

// The options for one layer, if not all layers have the model's window.
MemoryOptions MemoryOfLayer(const MemoryOptions& options, const Shape& shape, uint32_t layer);

// Pages of one key-value head.
kernels::PageLayout HeadPageLayout(const Shape& shape, uint32_t layer, kernels::KvType type);

// The columns of rows that a part of a group has: its own heads, or all if all heads need them.
kv::Columns ColumnsOf(const GroupPart& part, const Shape& shape);

// `fingerprint` names the model. Plain attention has one stream per layer; its page is the pages of
// all key-value heads, one after the other. A part of a group has only its own heads, as columns of
// the rows, which have the same names as the whole rows.
Result<kv::Layout> MakeMemoryLayout(const Shape& shape, const MemoryOptions& options,
                                    const Hash128& fingerprint, const GroupPart& part = {});

}  // namespace aster::model
