// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "draft/proposers.h"

#include <algorithm>

#include "draft/model_proposer.h"
#include "draft/ngram_proposer.h"
#include "engine/request.h"

namespace aster::draft {
namespace {

// The most draft tokens at the end of a text that may be removed again.
constexpr size_t kMostTaken = 4 * engine::kMostDrafts;

class FromText final : public engine::Proposer {
 public:
  explicit FromText(uint32_t most) : ngrams_({.max_tokens = most}) {}

  Status Propose(std::span<const int32_t> history, uint32_t most,
                 std::vector<int32_t>& drafts) override {
    TakeText(history);
    const auto found = ngrams_.Propose();
    const auto wanted = found.first(std::min<size_t>(found.size(), most));
    drafts.insert(drafts.end(), wanted.begin(), wanted.end());
    return Ok();
  }

 private:
  // The text continues the one before, except for its end, which may have been draft tokens.
  void TakeText(std::span<const int32_t> history) {
    const std::span<const int32_t> known = ngrams_.history();
    const size_t common = std::min(known.size(), history.size());
    size_t agreed = common - std::min(common, kMostTaken);
    while (agreed < common && known[agreed] == history[agreed]) ++agreed;
    ngrams_.Rewind(agreed);
    ngrams_.Append(history.subspan(agreed));
  }

  NgramProposer ngrams_;
};

// The request's options without log-probabilities, which a drafter does not need.
engine::SamplingOptions ForDrafts(const engine::Request& request) {
  engine::SamplingOptions sampling = request.sampling;
  sampling.logprobs = false;
  sampling.top_logprobs = 0;
  return sampling;
}

}  // namespace

Result<std::unique_ptr<engine::Proposer>> Proposers::Make(const engine::Request& request) {
  switch (request.draft.kind) {
    case engine::DraftKind::kNgram:
      return std::unique_ptr<engine::Proposer>(std::make_unique<FromText>(request.draft.most));
    case engine::DraftKind::kMtp:
      if (answers_ == nullptr) break;
      return MakeOwn(request);
    case engine::DraftKind::kModel:
      // A drafter of blocks, which is loaded with the answering model, counts as a draft model.
      if (drafts_ == nullptr && answers_ != nullptr && answers_->has_drafter())
        return MakeOwn(request);
      if (drafts_ == nullptr) break;
      return NewModelProposer(*drafts_, ForDrafts(request));
    case engine::DraftKind::kNone:
      break;
  }
  return FailedPrecondition("no drafter of that kind is here: choose another one, or none");
}

// A drafter of blocks is preferred to the MTP block. If a GPU was lost since they were made, their
// weights have moved: new ones are made, and answers in progress draft no more.
Result<std::unique_ptr<engine::Proposer>> Proposers::MakeOwn(const engine::Request& request) {
  if (answers_->replacements() != replacements_) {
    if (mtp_ != nullptr) lost_mtp_.push_back(std::move(mtp_));
    if (blocks_ != nullptr) lost_blocks_.push_back(std::move(blocks_));
    replacements_ = answers_->replacements();
  }
  if (!answers_->has_drafter() && answers_->weights().mtp != nullptr) {
    if (mtp_ == nullptr) mtp_ = TRY(MtpDrafter::Make(*answers_));
    return mtp_->NewProposer(ForDrafts(request));
  }
  if (blocks_ == nullptr) blocks_ = TRY(BlockProposers::Make(*answers_));
  return blocks_->NewProposer(ForDrafts(request));
}

std::unique_ptr<engine::ProposerSource> ProposersFor(engine::LocalModel& answers) {
  return std::make_unique<Proposers>(&answers);
}

}  // namespace aster::draft
