// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The streams of KV rows of each layer of a model, and which of their rows later computations need:
// a sliding window, attention sinks, or all. Everything else in kv/ is generic over this. Must not
// know what rows mean, nor any sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "kv/columns.h"
#include "kv/page_codec.h"

namespace aster::kv {

// Positions are absolute and below this, so that they fit a signed 32-bit number.
inline constexpr uint32_t kMaxPositions = uint32_t{1} << 31;

// Layers [begin, end) of the whole model.
struct LayerRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  uint32_t size() const { return end - begin; }
  bool Contains(LayerRange other) const { return begin <= other.begin && other.end <= end; }
  bool operator==(const LayerRange&) const = default;
};

// One list of rows, one row for every `stride` positions. Row r describes positions
// [r * stride, (r + 1) * stride) and exists once the last of them has been computed. Values that
// are written and read together form one stream: plain attention has one per layer, whose rows are
// keys and values.
struct Stream {
  std::shared_ptr<const PageCodec> codec;
  uint32_t stride = 1;
  // The computation of position p reads the rows that end in its window, the last `window`
  // positions including p itself, and those that begin before position `sinks`. 0: no window, all
  // rows are read.
  uint32_t window = 0;
  uint32_t sinks = 0;
  // Only positions p read for which p + 1 is a multiple of this. (Rows are collected, and are not
  // needed any more once they were read.) If above 1, `window` must be at least as long.
  uint32_t read_every = 1;

  uint32_t page_positions() const { return codec->page_rows() * stride; }
  // Pages at the front that hold sinks.
  uint32_t SinkPages() const;
  // The first page with rows that computations from position `length` on read, except for sinks.
  uint32_t FirstNeeded(uint32_t length) const;
  // The first row, counted in page `index`, that computations from position `length` on read;
  // page_rows() if they read none. All rows of a page with sinks count as needed.
  uint32_t FirstRowNeeded(uint32_t index, uint32_t length) const;
  // Whether computations from position `length` on read earlier rows in page `index`.
  bool Needs(uint32_t index, uint32_t length) const;

 private:
  uint32_t WindowBegin(uint32_t length) const;
};

// Constant after construction, so any number of threads may use it. Tables point to their layout:
// it outlives them.
class Layout {
 public:
  // `model` names everything that a row's bytes depend on besides the token history: the weights
  // and overrides of their metadata. Pages of all streams cover the same `page_positions`, a
  // multiple of every stride. Tables keep `slack` more positions than a window, so that they can
  // always go back that far.
  static Result<Layout> Create(const Hash128& model, uint32_t page_positions, uint32_t slack,
                               std::vector<std::vector<Stream>> layers);

  uint32_t page_positions() const { return page_positions_; }
  uint32_t slack() const { return slack_; }
  uint32_t layer_count() const { return static_cast<uint32_t>(layers_.size()); }
  LayerRange all_layers() const { return {0, layer_count()}; }
  bool has_windows() const { return has_windows_; }
  // The position to which a table of `length` positions can go back if it gets its rows from a KV
  // chunk: as far as the slack, and at least to the last page boundary, from where other sequences
  // may continue.
  uint32_t ReachOf(uint32_t length) const;
  std::span<const Stream> streams(uint32_t layer) const { return layers_[layer]; }

  // Names the model and the layout: the hash of the empty token history (prefix_hash.h), and so
  // part of every prefix hash. Machines with equal digests can exchange rows.
  const Hash128& digest() const { return digest_; }
  const Columns& columns() const { return columns_; }
  // Makes it the layout of a machine of a group that has only these columns. `digest` is that of
  // whole rows, so that equal prefixes have equal hashes on every machine of the group.
  Layout PartOf(const Hash128& digest, const Columns& columns) && {
    digest_ = digest;
    columns_ = columns;
    return std::move(*this);
  }
  // For people: "model 0123abcd, pages of 64 positions; layers 0 to 15: f16 8x64 keys…".
  std::string Describe(LayerRange layers) const;

  // The most memory that a table of these layers takes while it grows to `length` positions, at
  // most `chunk` of them at a time.
  uint64_t BytesFor(LayerRange layers, uint32_t length, uint32_t chunk) const;

 private:
  Layout() = default;

  uint32_t page_positions_ = 0;
  uint32_t slack_ = 0;
  bool has_windows_ = false;
  std::vector<std::vector<Stream>> layers_;
  Hash128 model_;
  Hash128 digest_;
  Columns columns_;
};

}  // namespace aster::kv
