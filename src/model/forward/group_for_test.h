// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The parts of a group in one process, each on chosen back ends, with small models of every
// architecture that divide by four. Only for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "model/forward/runner_for_test.h"

namespace aster::model {

using Shares = std::vector<uint32_t>;

inline GroupPart PartOf(const Shares& shares) {
  GroupPart part{.count = static_cast<uint32_t>(shares.size())};
  std::ranges::copy(shares, part.shares.begin());
  return part;
}

// A group whose parts own experts, `replicas` of which are on all parts.
inline GroupPart OwnersOf(const Shares& shares, uint32_t replicas) {
  GroupPart part = PartOf(shares);
  part.owns_experts = true;
  part.replicas = replicas;
  return part;
}

// What the parts have sent, in this process.
class Board {
 public:
  using Key = std::pair<uint32_t, uint32_t>;  // gather, part
  std::map<Key, std::vector<uint8_t>> sent;
  std::set<Key> blocks;  // messages of blocks
  uint64_t bytes = 0;
};

class BoardExchange final : public Exchange {
 public:
  BoardExchange(Board& board, uint32_t part, bool takes_blocks = true)
      : board_(board), part_(part), takes_blocks_(takes_blocks) {}

  bool TakesBlocks() const override { return takes_blocks_; }
  Status Send(uint32_t gather, To, const Rows& rows) override {
    const Board::Key key{gather, part_};
    board_.bytes += rows.bytes.size();
    if (rows.are_blocks) board_.blocks.insert(key);
    EXPECT_TRUE(board_.sent.try_emplace(key, rows.bytes.begin(), rows.bytes.end()).second);
    return Ok();
  }
  Result<Rows> Take(uint32_t gather, uint32_t part) override {
    const auto found = board_.sent.find({gather, part});
    if (found == board_.sent.end()) return Rows();
    return Rows{.bytes = found->second, .are_blocks = board_.blocks.contains({gather, part})};
  }

 private:
  Board& board_;
  const uint32_t part_;
  const bool takes_blocks_;
};

struct Piece {
  size_t sequence;
  std::vector<int32_t> tokens;
};

inline std::unique_ptr<Runner> NewRunner(const gguf::ModelFiles& files, const Shape& shape,
                                         const Slice& slice) {
  return std::make_unique<Runner>(files, slice, 1, kernels::FastestIsa(), Narrowed({}, shape));
}

// Layers that one back end computes, up to `layer_end`.
struct PlacedLayers {
  uint32_t layer_end;
  compute::Backend* backend;
};

// A part of a group whose layers are on these back ends.
class PartRunner {
 public:
  PartRunner(const gguf::ModelFiles& files, const Shape& shape, const Slice& slice,
             std::span<const PlacedLayers> places)
      : memory_(Narrowed({}, shape)) {
    uint32_t begin = slice.layer_begin;
    std::vector<BackendSlice> slices;
    for (const PlacedLayers& place : places) {
      const Slice own{.layer_begin = begin,
                      .layer_end = place.layer_end,
                      .embedding = begin == slice.layer_begin,
                      .head = place.layer_end == slice.layer_end,
                      .part = slice.part};
      weights_.push_back(
          std::make_unique<Weights>(LoadWeights(files, own, *place.backend).value()));
      pools_.push_back(
          std::make_unique<kv::Pool>(uint64_t{1} << 28, nullptr, place.backend->pages()));
      pool_of_layer_.insert(pool_of_layer_.end(), place.layer_end - begin, pools_.back().get());
      slices.push_back({.weights = *weights_.back(), .backend = *place.backend});
      begin = place.layer_end;
    }
    layout_.emplace(MakeMemoryLayout(shape, memory_, Hash128{1, 2}, slice.part).value());
    forward_.emplace(std::move(slices), memory_);
  }

  Forward& forward() { return *forward_; }
  const Weights& weights() const { return *weights_.front(); }
  kv::PageTable NewTable() { return {*layout_, pool_of_layer_, layout_->all_layers()}; }

 private:
  const MemoryOptions memory_;
  std::vector<std::unique_ptr<Weights>> weights_;
  std::vector<std::unique_ptr<kv::Pool>> pools_;
  std::vector<kv::Pool*> pool_of_layer_;
  std::optional<kv::Layout> layout_;
  std::optional<Forward> forward_;
};

// A group in one thread: its parts advance in turns.
class Group {
 public:
  // `older`: a part that receives blocks but sends none; or none. `places`: of each part's layers;
  // empty: all on the processor.
  Group(const gguf::ModelFiles& files, const Shape& shape, const GroupPart& part, size_t sequences,
        uint32_t older = GroupPart::kMostParts,
        const std::vector<std::vector<PlacedLayers>>& places = {})
      : older_(older) {
    for (uint32_t i = 0; i < part.count; ++i) {
      Slice slice = Slice::Whole(shape);
      slice.part = part.At(i);
      const PlacedLayers all[] = {{shape.layer_count, &cpu_}};
      runners_.push_back(std::make_unique<PartRunner>(
          files, shape, slice, places.empty() ? std::span<const PlacedLayers>(all) : places[i]));
      auto& tables = tables_.emplace_back();
      for (size_t k = 0; k < sequences; ++k) tables.push_back(runners_.back()->NewTable());
    }
  }

  // Logits of all tokens of the pieces, computed in one batch.
  std::vector<float> Run(std::span<const Piece> pieces) {
    Board board;
    std::vector<std::unique_ptr<BoardExchange>> exchanges;
    std::vector<ForwardJob> jobs;
    for (uint32_t i = 0; i < runners_.size(); ++i) {
      std::vector<Segment> segments;
      for (const Piece& piece : pieces) {
        segments.push_back(
            {.table = &tables_[i][piece.sequence], .tokens = piece.tokens, .wanted = Wanted::kAll});
      }
      exchanges.push_back(std::make_unique<BoardExchange>(board, i, i != older_));
      Forward& forward = runners_[i]->forward();
      jobs.push_back(forward.Begin(segments, forward.slice(), exchanges.back().get()).value());
    }
    std::vector<bool> is_done(jobs.size());
    for (int turn = 0; std::ranges::count(is_done, false) > 0; ++turn) {
      for (size_t i = jobs.size(); i-- > 0;) {
        if (is_done[i]) continue;
        is_done[i] = jobs[i].Advance().value() == Progress::kDone;
        // Nothing more comes from the other parts: only the back end has to finish.
        if (jobs[i].is_computing()) {
          EXPECT_TRUE(jobs[i].Wait().ok());
          turn = 0;
        }
      }
      if (turn > 1000) ADD_FAILURE() << "the parts wait for each other";
      if (turn > 1000) return {};
    }
    sent_bytes_ = board.bytes;
    sent_blocks_ = board.blocks.size();
    const std::span<const float> logits = jobs[0].output().logits;
    return {logits.begin(), logits.end()};
  }

  const Weights& weights(size_t part) const { return runners_[part]->weights(); }
  uint64_t sent_bytes() const { return sent_bytes_; }  // of the last batch, by all parts
  size_t sent_blocks() const { return sent_blocks_; }  // likewise: messages of blocks

 private:
  ThreadPool pool_{1};
  compute::Context context_{pool_, kernels::FastestIsa()};
  compute::CpuBackend cpu_{context_};
  const uint32_t older_;
  std::vector<std::unique_ptr<PartRunner>> runners_;
  std::vector<std::vector<kv::PageTable>> tables_;  // [part][sequence]
  uint64_t sent_bytes_ = 0;
  size_t sent_blocks_ = 0;
};

// DeepSeek V4 with four groups of heads, wide enough for blocks of 256 in all rows.
inline Shape FourGroups() {
  Shape shape = ShapeOfPreset("flash-shape-tiny").value();
  shape.vocab_size = 300;
  shape.sliding_window = 24;
  shape.layer_count = 4;
  shape.latent.ratios = {0, 4, 128, 4};
  shape.head_count = 8;
  shape.latent.output_groups = 4;
  shape.latent.index_top = 12;
  return shape;
}

// Layers of two kinds, the first two with a window.
inline Shape FourHeadsOfKinds(Shape shape) {
  shape.layer_count = 3;
  shape.vocab_size = 300;
  shape.sliding_window = 24;
  shape.full_every = 3;
  shape.head_count = 8;
  shape.kv_head_count = 4;
  shape.kinds.window_kv_heads = 8;
  return shape;
}

// `kind`: a variant of the architecture.
inline Shape FourHeads(Arch arch, std::string_view kind = {}) {
  if (arch == Arch::kDeepSeek4) return FourGroups();
  if (kind.starts_with("gemma4")) return FourHeadsOfKinds(ShapeOfPreset(kind).value());
  Shape shape = SmallShape(arch);
  if (shape.kinds.window_kv_heads > 0) {
    const uint32_t layers = shape.layer_count;
    shape = FourHeadsOfKinds(shape);
    shape.layer_count = layers;
    return shape;
  }
  if (kind == "two shared") shape.experts.shared = 2;
  if (kind == "joint") shape.kinds.fused = true;
  if (kind == "fused experts") shape.experts.fused = true;
  if (kind == "one matrix") shape.recurrence.one_matrix = true;
  if (HasWholeKeys(shape)) return shape;
  shape.layer_count = 2;
  shape.head_count = 8;
  shape.kv_head_count = 4;
  shape.head_dim = 32;
  shape.rope.dimensions = 32;
  shape.window_rope.dimensions = 32;
  return shape;
}

// A prompt in two pieces, then single tokens, with another sequence in some of the batches.
inline std::vector<std::vector<Piece>> Batches(const Shape& shape) {
  const std::vector<int32_t> one = RandomTokens(90, shape.vocab_size, 1);
  const std::vector<int32_t> two = RandomTokens(40, shape.vocab_size, 2);
  const auto piece = [](size_t sequence, const std::vector<int32_t>& tokens, size_t begin,
                        size_t end) {
    return Piece{sequence,
                 {tokens.begin() + static_cast<ptrdiff_t>(begin),
                  tokens.begin() + static_cast<ptrdiff_t>(end)}};
  };
  return {{piece(0, one, 0, 70)},
          {piece(0, one, 70, 87), piece(1, two, 0, 38)},
          {piece(0, one, 87, 88), piece(1, two, 38, 39)},
          {piece(0, one, 88, 89)},
          {piece(1, two, 39, 40), piece(0, one, 89, 90)}};
}

inline std::vector<float> WholeLogits(const gguf::ModelFiles& files, const Shape& shape,
                                      std::span<const std::vector<Piece>> batches) {
  const auto runner = NewRunner(files, shape, Slice::Whole(shape));
  std::vector<kv::PageTable> tables;
  tables.push_back(runner->NewTable());
  tables.push_back(runner->NewTable());
  std::vector<float> all;
  for (const std::vector<Piece>& batch : batches) {
    std::vector<Segment> segments;
    for (const Piece& piece : batch) {
      segments.push_back(
          {.table = &tables[piece.sequence], .tokens = piece.tokens, .wanted = Wanted::kAll});
    }
    const Output output = runner->Run(segments).value();
    all.insert(all.end(), output.logits.begin(), output.logits.end());
  }
  return all;
}

}  // namespace aster::model
