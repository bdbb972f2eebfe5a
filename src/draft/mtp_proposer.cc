// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "draft/mtp_proposer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "draft/followed_rows.h"
#include "draft/window_memory.h"

namespace aster::draft {
namespace {

// The most pairs that are computed at once.
constexpr uint32_t kRowsAtOnce = 256;
// Pairs that are kept for a block whose own window is longer.
constexpr uint32_t kMostWindow = 512;
// Pairs that are read after a pause in drafting, and of a prompt: reading one takes a twentieth of
// a step of a model of seven layers. With 16 of them quasar's block drafts as well as with all.
constexpr uint32_t kMostUnread = 16;
constexpr uint32_t kMostUnreadPerLayer = 2;

}  // namespace

// The block reads pairs: pair i is token i + 1 with the row of token i. So rows wait in `rows_` for
// the token after the last of them, which is known when the next draft is asked for.
class MtpProposer final : public engine::Proposer {
 public:
  MtpProposer(MtpDrafter& block, const engine::SamplingOptions& sampling)
      : block_(block),
        width_(block.model_.shape().hidden_width()),
        sampler_(sampling, block.model_.shape().vocab_size, block.model_.isa()),
        rows_(width_, block.most_unread()) {}

  engine::Follows follows() const override { return engine::Follows::kHidden; }
  void Follow(std::span<const int32_t> history, uint32_t begin,
              std::span<const float> hidden) override {
    if (!rows_.Add(history, begin, hidden)) table_.reset();
  }

  Status Propose(std::span<const int32_t> history, uint32_t most,
                 std::vector<int32_t>& drafts) override {
    // The last row must be that before the newest token.
    if (rows_.count() == 0 || rows_.end() + 1 != history.size()) return Ok();
    Status done = TryPropose(history, most, drafts);
    // After an error the content of its KV cache is unknown.
    if (!done.ok()) Forget();
    return done;
  }

 private:
  Status TryPropose(std::span<const int32_t> history, uint32_t most, std::vector<int32_t>& drafts) {
    if (!rows_.KeepWindow()) table_.reset();
    if (!table_) table_.emplace(block_.layout_, block_.pages_, block_.layout_.all_layers());
    std::vector<int32_t> text(history.begin(), history.end());
    const size_t row_count = rows_.count();
    const size_t vocab_size = block_.model_.shape().vocab_size;
    // Computes the pairs of known tokens; the last of them gives the first draft token.
    model::Output output;
    for (size_t done = 0; done < row_count;) {
      const size_t count = std::min<size_t>(kRowsAtOnce, row_count - done);
      output = TRY(block_.mtp_.Run(*table_, history.last(row_count - done).first(count),
                                   rows_.data() + done * width_, model::RowsOf::kModel,
                                   model::Wanted::kLast));
      done += count;
    }
    // Rows after the first draft token are those of drafts: they go into a copy of the table, which
    // ends with this call.
    rows_.Clear();
    std::optional<kv::PageTable> ahead;
    for (;;) {
      const engine::Choice choice = TRY(sampler_.Choose(output.logits.last(vocab_size), text));
      text.push_back(choice.id);
      drafts.push_back(choice.id);
      if (drafts.size() >= most) return Ok();
      if (!ahead) ahead.emplace(table_->Fork());
      const auto row = output.hidden.last(width_);
      last_row_.assign(row.begin(), row.end());
      output = TRY(block_.mtp_.Run(*ahead, std::span(text).last(1), last_row_.data(),
                                   model::RowsOf::kBlock, model::Wanted::kLast));
    }
  }

  void Forget() {
    table_.reset();
    rows_.Forget(rows_.end());
  }

  MtpDrafter& block_;
  const size_t width_;
  engine::Sampler sampler_;
  std::optional<kv::PageTable> table_;  // of pairs; position 0 is where its KV cache began again
  FollowedRows rows_;                   // not in a pair yet
  std::vector<float> last_row_;         // [width_]
};

MtpDrafter::MtpDrafter(engine::LocalModel& model, kv::Layout layout)
    : model_(model),
      window_(std::min(model::ShapeOfMtp(model.shape()).sliding_window, kMostWindow)),
      layout_(std::move(layout)),
      pages_(WindowBytes(layout_, window_, kRowsAtOnce), nullptr, model.backend().pages()),
      mtp_(model.weights(), model.memory_options(), model.backend()) {}

Result<std::unique_ptr<MtpDrafter>> MtpDrafter::Make(engine::LocalModel& model) {
  if (model.weights().mtp == nullptr) {
    return FailedPrecondition(
        "this model has no MTP block: draft with ngram, or with a smaller model");
  }
  kv::Layout layout =
      TRY(model::MakeMtpLayout(model.shape(), model.memory_options(), model.name()));
  // tidy: allow(ownership) make_unique does not reach a private constructor
  std::unique_ptr<MtpDrafter> block(new MtpDrafter(model, std::move(layout)));
  block->WarmUp();
  return block;
}

uint32_t MtpDrafter::most_unread() const {
  const uint32_t most = std::max(kMostUnread, kMostUnreadPerLayer * model_.shape().layer_count);
  return std::min(window_ + 1, most);
}

// Reads the weights and allocates memory, so that the first draft does not take several times as
// long as the others. Where this fails, drafting will.
void MtpDrafter::WarmUp() {
  const std::vector<int32_t> tokens(std::min(kMostUnread, most_unread()));
  const std::vector<float> rows(tokens.size() * model_.shape().hidden_width());
  kv::PageTable table(layout_, pages_, layout_.all_layers());
  static_cast<void>(
      mtp_.Run(table, tokens, rows.data(), model::RowsOf::kModel, model::Wanted::kLast));
}

std::unique_ptr<engine::Proposer> MtpDrafter::NewProposer(const engine::SamplingOptions& sampling) {
  return std::make_unique<MtpProposer>(*this, sampling);
}

}  // namespace aster::draft
