// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "draft/next_proposer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace aster::draft {
namespace {

// Answers that can be drafted for at once. One that finds no memory has no drafts.
constexpr uint64_t kMostAnswers = 128;
// Pairs that are computed at once, at most.
constexpr uint32_t kRowsAtOnce = 256;
// Pairs that are kept for a block whose own window is longer.
constexpr uint32_t kMostWindow = 512;

// What the block's memory of one answer takes, and of the copy that runs ahead of it.
uint64_t BytesFor(const kv::Layout& layout, uint32_t window) {
  const uint32_t longest = window + layout.slack() + 2 * layout.page_positions() + kRowsAtOnce;
  return 2 * layout.BytesFor(layout.all_layers(), longest, kRowsAtOnce);
}

}  // namespace

// Rows wait in `rows_` until the token behind the last of them is known, which is when the next
// draft is asked for: pair i is token i + 1 with the row behind token i.
class NextProposer final : public engine::Proposer {
 public:
  NextProposer(NextBlock& block, const engine::SamplingOptions& sampling)
      : block_(block),
        width_(block.model_.shape().hidden_width()),
        window_(block.window_),
        sampler_(sampling, block.model_.shape().vocab_size, block.model_.isa()) {
    rows_.reserve((most_rows() + 1) * width_);  // growing would be a step's work
  }

  bool follows() const override { return true; }
  void Follow(std::span<const int32_t> history, uint32_t begin,
              std::span<const float> hidden) override {
    // Rows continue those that wait; where some between are missing the window begins anew behind
    // them.
    const auto end = begin + static_cast<uint32_t>(hidden.size() / width_);
    if (end <= rows_end_) return;  // computed again
    if (begin > rows_end_) Forget(begin);
    // Of rows that will have left the window before the next draft.
    const auto length = static_cast<uint32_t>(history.size());
    const uint32_t first_wanted = length - std::min(length, window_ + 1);
    if (end <= first_wanted) return Forget(end);
    if (first_wanted > rows_end_) Forget(first_wanted);
    const auto fresh = hidden.subspan((rows_end_ - begin) * width_);
    rows_.insert(rows_.end(), fresh.begin(), fresh.end());
    rows_end_ = end;
    // Where no drafts are asked for rows are not gathered for ever: when there are too many the
    // window begins anew, as if the rows before had not been seen.
    if (rows_.size() > most_rows() * width_) {
      table_.reset();
      rows_.erase(rows_.begin(), rows_.end() - static_cast<ptrdiff_t>((window_ + 1) * width_));
    }
  }

  Status Propose(std::span<const int32_t> history, uint32_t most,
                 std::vector<int32_t>& drafts) override {
    // One row is behind the token before the last.
    if (rows_.empty() || rows_end_ + 1 != history.size()) return Ok();
    Status done = TryPropose(history, most, drafts);
    // What its memory holds then is not known.
    if (!done.ok()) Forget(rows_end_);
    return done;
  }

 private:
  size_t most_rows() const { return 2 * (size_t{window_} + 1); }

  Status TryPropose(std::span<const int32_t> history, uint32_t most, std::vector<int32_t>& drafts) {
    if (!table_) table_.emplace(block_.layout_, block_.pages_, block_.layout_.all_layers());
    std::vector<int32_t> text(history.begin(), history.end());
    const size_t row_count = rows_.size() / width_;
    const size_t vocab_size = block_.model_.shape().vocab_size;
    // The pairs that are certain, and the first draft with the last of them.
    model::Output output;
    for (size_t done = 0; done < row_count;) {
      const size_t count = std::min<size_t>(kRowsAtOnce, row_count - done);
      output = TRY(block_.next_.Run(*table_, history.last(row_count - done).first(count),
                                    rows_.data() + done * width_, model::RowsOf::kModel,
                                    model::Wanted::kLast));
      done += count;
    }
    // Behind the first draft rows are of drafts: a copy of the table takes them, which ends with
    // this call.
    rows_.clear();
    std::optional<kv::PageTable> ahead;
    for (;;) {
      const engine::Choice choice = TRY(sampler_.Choose(output.logits.last(vocab_size), text));
      text.push_back(choice.id);
      drafts.push_back(choice.id);
      if (drafts.size() >= most) return Ok();
      if (!ahead) ahead.emplace(table_->Fork());
      const auto row = output.hidden.last(width_);
      last_row_.assign(row.begin(), row.end());
      output = TRY(block_.next_.Run(*ahead, std::span(text).last(1), last_row_.data(),
                                    model::RowsOf::kBlock, model::Wanted::kLast));
    }
  }

  // Begins anew with the row at `position`.
  void Forget(uint32_t position) {
    table_.reset();
    rows_.clear();
    rows_end_ = position;
  }

  NextBlock& block_;
  const size_t width_;
  const uint32_t window_;
  engine::Sampler sampler_;
  std::optional<kv::PageTable> table_;  // of pairs; its positions begin where its memory did
  std::vector<float> rows_;             // [rows, width_], in no pair yet
  uint32_t rows_end_ = 0;               // the position behind the last of them
  std::vector<float> last_row_;         // [width_]
};

NextBlock::NextBlock(engine::LocalModel& model, kv::Layout layout)
    : model_(model),
      window_(std::min(model::ShapeOfNext(model.shape()).sliding_window, kMostWindow)),
      layout_(std::move(layout)),
      pages_(kMostAnswers * BytesFor(layout_, window_)),
      next_(model.weights(), model.memory_options(), model.backend()) {}

Result<std::unique_ptr<NextBlock>> NextBlock::Make(engine::LocalModel& model) {
  if (model.weights().next == nullptr) {
    return FailedPrecondition(
        "this model has no MTP block: draft with ngram, or with a smaller model");
  }
  kv::Layout layout =
      TRY(model::MakeNextLayout(model.shape(), model.memory_options(), model.name()));
  // tidy: allow(ownership) make_unique does not reach a private constructor
  return std::unique_ptr<NextBlock>(new NextBlock(model, std::move(layout)));
}

std::unique_ptr<engine::Proposer> NextBlock::NewProposer(const engine::SamplingOptions& sampling) {
  return std::make_unique<NextProposer>(*this, sampling);
}

}  // namespace aster::draft
