// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "draft/block_proposer.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "draft/followed_rows.h"
#include "draft/window_memory.h"

namespace aster::draft {
namespace {

// The most rows that are read at once.
constexpr uint32_t kTakenAtOnce = 256;
// Draft tokens with a lower probability of being reached and right are not worth checking.
constexpr float kLeastConfidence = 0.25f;

}  // namespace

// Rows wait in `rows_` until the next draft is asked for.
class BlockProposer final : public engine::Proposer {
 public:
  BlockProposer(BlockProposers& shared, const engine::SamplingOptions& sampling)
      : shared_(shared),
        width_(shared.shape_.taps.size() * shared.model_.shape().embedding),
        sampler_(sampling, shared.model_.shape().vocab_size, shared.model_.isa()),
        rows_(width_, shared.shape_.layers.sliding_window) {}

  engine::Follows follows() const override { return engine::Follows::kTapped; }

  void Follow(std::span<const int32_t> history, uint32_t begin,
              std::span<const float> rows) override {
    if (!rows_.Add(history, begin, rows)) table_.reset();
  }

  Status Propose(std::span<const int32_t> history, uint32_t most,
                 std::vector<int32_t>& drafts) override {
    // The last row must be that before the newest token.
    if (rows_.end() + 1 != history.size()) return Ok();
    Status done = TryPropose(history, most, drafts);
    // After an error the content of its KV cache is unknown.
    if (!done.ok()) {
      table_.reset();
      rows_.Forget(rows_.end());
    }
    return done;
  }

 private:
  Status ReadRows(std::span<const int32_t> history) {
    if (rows_.count() == 0) return Ok();
    if (!table_) table_.emplace(shared_.layout_, shared_.pages_, shared_.layout_.all_layers());
    const auto tokens = history.subspan(rows_.end() - rows_.count(), rows_.count());
    for (size_t done = 0; done < tokens.size(); done += kTakenAtOnce) {
      const size_t count = std::min<size_t>(kTakenAtOnce, tokens.size() - done);
      TRY(shared_.drafter_.Follow(*table_, tokens.subspan(done, count),
                                  rows_.data() + done * width_));
    }
    rows_.Clear();
    return Ok();
  }

  Status TryPropose(std::span<const int32_t> history, uint32_t most, std::vector<int32_t>& drafts) {
    TRY(ReadRows(history));
    if (!table_) return Ok();
    model::BlockDrafter& drafter = shared_.drafter_;
    std::vector<int32_t> text(history.begin(), history.end());
    TRY(drafter.Begin(*table_, text.back()));
    const size_t count = std::min<size_t>(most, shared_.shape_.drafts());
    float confidence = 1.0f;
    for (size_t i = 0; i < count; ++i) {
      const auto logits = TRY(drafter.LogitsOf(i, text.back()));
      confidence *= drafter.Confidence().value_or(1.0f);
      if (confidence < kLeastConfidence) break;
      text.push_back(TRY(sampler_.Choose(logits, text)).id);
      drafts.push_back(text.back());
    }
    return Ok();
  }

  BlockProposers& shared_;
  const size_t width_;
  engine::Sampler sampler_;
  std::optional<kv::PageTable> table_;  // its position 0 is where its KV cache began again
  FollowedRows rows_;
};

BlockProposers::BlockProposers(engine::LocalModel& model, const model::BlockWeights& weights,
                               kv::Layout layout)
    : model_(model),
      shape_(weights.shape),
      layout_(std::move(layout)),
      pages_(WindowBytes(layout_, shape_.layers.sliding_window, kTakenAtOnce + shape_.block),
             nullptr, model.backend().pages()),
      drafter_(weights, model.memory_options(), model.weights().head, model.backend()) {
  model.Tap(shape_.taps);
}

Result<std::unique_ptr<BlockProposers>> BlockProposers::Make(engine::LocalModel& model) {
  const model::BlockWeights* const weights = TRY(model.drafter());
  kv::Layout layout =
      TRY(model::MakeBlockLayout(weights->shape, model.memory_options(), model.name()));
  // tidy: allow(ownership) make_unique does not reach a private constructor
  return std::unique_ptr<BlockProposers>(new BlockProposers(model, *weights, std::move(layout)));
}

std::unique_ptr<engine::Proposer> BlockProposers::NewProposer(
    const engine::SamplingOptions& sampling) {
  return std::make_unique<BlockProposer>(*this, sampling);
}

}  // namespace aster::draft
