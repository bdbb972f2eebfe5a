// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which streams of KV rows each layer of a model has, and which of their rows a computation still
// needs: a sliding window, attention sinks, or all. Everything else in kv/ is generic over this.
// Must not know what rows mean, nor any sequence.
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
// [r * stride, (r + 1) * stride) and exists once the last of them has been computed. What is
// written and read together is one stream: plain attention has one per layer, whose rows are keys
// and values.
struct Stream {
  std::shared_ptr<const PageCodec> codec;
  uint32_t stride = 1;
  // The computation of position p reads the rows that end in its window, the last `window`
  // positions including p itself, and those that begin before position `sinks`. A window of 0 is
  // everything.
  uint32_t window = 0;
  uint32_t sinks = 0;
  // Only positions p read where p + 1 is a multiple of this: what waits until enough of it is there
  // is not needed any more once it was read. Beyond 1 only with a window that is as long.
  uint32_t read_every = 1;

  uint32_t page_positions() const { return codec->page_rows() * stride; }
  // Pages at the front that hold sinks.
  uint32_t SinkPages() const;
  // The first page with rows that computations from position `length` on read, but for sinks.
  uint32_t FirstNeeded(uint32_t length) const;
  // The first row, counted in page `index`, that computations from position `length` on read;
  // page_rows() where they read none. All of a page with sinks counts as needed.
  uint32_t FirstRowNeeded(uint32_t index, uint32_t length) const;
  // Whether computations from position `length` on read rows of page `index` that precede it.
  bool Needs(uint32_t index, uint32_t length) const;

 private:
  uint32_t WindowBegin(uint32_t length) const;
};

// Constant after construction, so any number of threads may use it. Tables point to their layout:
// it outlives them.
class Layout {
 public:
  // `model` names everything that a row's bytes depend on besides the token history: the weights
  // and what overrides their metadata. Pages of all streams cover the same `page_positions`, a
  // multiple of every stride. Windows are kept longer by `slack` positions, so that going back that
  // far is free.
  static Result<Layout> Create(const Hash128& model, uint32_t page_positions, uint32_t slack,
                               std::vector<std::vector<Stream>> layers);

  uint32_t page_positions() const { return page_positions_; }
  uint32_t slack() const { return slack_; }
  uint32_t layer_count() const { return static_cast<uint32_t>(layers_.size()); }
  LayerRange all_layers() const { return {0, layer_count()}; }
  bool has_windows() const { return has_windows_; }
  // How far rows that come from elsewhere should let a table of `length` positions go back: as far
  // as the slack, but not behind the last page boundary, where others go on.
  uint32_t ReachOf(uint32_t length) const;
  std::span<const Stream> streams(uint32_t layer) const { return layers_[layer]; }

  // Names the model and the layout: the hash of the empty token history (prefix_hash.h), and so
  // part of every prefix hash. Machines with equal digests can exchange rows.
  const Hash128& digest() const { return digest_; }
  // Which columns of every row it has.
  const Columns& columns() const { return columns_; }
  // Makes it the layout of a machine that has these columns only, of rows that have `digest` as a
  // whole: equal prefixes have equal hashes on every machine of the group.
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
