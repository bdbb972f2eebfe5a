// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/speculation.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace aster::engine {
namespace {

// The least acceptance rate that pays: a draft costs a row of the model and the drafter's time.
constexpr float kWorthwhile = 0.35F;
// Steps without drafts before another try.
constexpr uint32_t kPause = 16;
// The same if the drafter had none: it may have some for the next token.
constexpr uint32_t kEmptyPause = 8;

}  // namespace

uint32_t DraftLength::Next(bool begins) {
  // Decides by measured times, or by a threshold of the acceptance rate.
  return times_ == nullptr ? NextByRate() : times_->Best(most_, rates_, begins);
}

uint32_t DraftLength::NextByRate() {
  uint32_t length = 0;
  float right = rates_.At(0);  // probability that all drafts up to this one are accepted
  while (length < most_ && right >= kWorthwhile) right *= rates_.At(++length);
  if (length > 0) return length;
  // Drafts do not pay: one is tried at times, as the text may have become easier.
  if (++left_out_ < kPause) return 0;
  left_out_ = 0;
  return 1;
}

void DraftLength::Learn(uint32_t drafted, uint32_t accepted) {
  rates_.Learn(drafted, accepted);
  if (times_ != nullptr) times_->LearnRates(drafted, accepted);
}

Speculation::Speculation(std::unique_ptr<Proposer> proposer, const DraftOptions& draft,
                         uint32_t vocab_size, const DraftTiming& watch)
    : proposer_(std::move(proposer)),
      vocab_size_(vocab_size),
      clock_(watch.clock),
      times_(watch.clock == nullptr || watch.times == nullptr
                 ? nullptr
                 : &(*watch.times)[static_cast<size_t>(draft.kind)]),
      length_(draft.most, times_) {
  CHECK(proposer_ != nullptr && draft.most >= 1 && draft.most <= kMostDrafts);
}

// Learns from the step before, which is over.
void Speculation::NoteStep() {
  if (times_ == nullptr) return;
  const int64_t now_ns = clock_->NowNs();
  // After a step without drafts the drafter first has to read the text in between.
  const bool catches_up = was_asked_ && !was_asked_before_ && steps_ == 1;
  const uint32_t tokens = 1 + accepted_;
  if (drafted_ && catches_up) {
    times_->LearnCatchUp(tokens, now_ns - begin_ns_);
  } else if (drafted_ && *drafted_ > 0) {
    times_->Learn(*drafted_, tokens, now_ns - begin_ns_);
  } else if (drafted_) {
    times_->LearnPlain(steps_, now_ns - begin_ns_ - asked_ns_);
    if (was_asked_) times_->LearnEmptyProposal(asked_ns_);
  }
  begin_ns_ = now_ns;
  asked_ns_ = 0;
  drafted_.reset();
  steps_ = 0;
  was_asked_before_ = std::exchange(was_asked_, false);
}

std::span<const int32_t> Speculation::Propose(std::span<const int32_t> history, uint32_t room) {
  drafts_.clear();
  NoteStep();
  if (room == 0) return drafts_;
  const uint32_t most = std::min(room, length_.Next(/*begins=*/!was_asked_before_));
  if (most == 0) return drafts_;
  was_asked_ = true;
  RequestDrafts(history, most);
  if (times_ != nullptr) asked_ns_ = clock_->NowNs() - begin_ns_;
  empty_ = drafts_.empty() ? empty_ + 1 : 0;
  return drafts_;
}

uint32_t Speculation::StepsWithoutDrafts() const {
  if (was_asked_) return std::clamp(empty_, 1u, kEmptyPause);
  return times_ == nullptr ? 1 : times_->StepsWithoutDrafts();
}

std::span<const int32_t> Speculation::Extend(std::span<const int32_t> text, uint32_t most) {
  drafts_.clear();
  if (most > 0) RequestDrafts(text, std::min(most, kMostDrafts));
  return drafts_;
}

void Speculation::RequestDrafts(std::span<const int32_t> text, uint32_t most) {
  // If a drafter fails, there are no drafts; the answer is the same.
  if (!proposer_->Propose(text, most, drafts_).ok()) drafts_.clear();
  if (drafts_.size() > most) drafts_.resize(most);
  // A token of another vocabulary ends the drafts: the model could not compute it.
  const auto is_none = [this](int32_t token) {
    return token < 0 || static_cast<uint32_t>(token) >= vocab_size_;
  };
  drafts_.erase(std::ranges::find_if(drafts_, is_none), drafts_.end());
}

void Speculation::Learn(uint32_t drafted, uint32_t accepted) {
  DCHECK(accepted <= drafted);
  ++counts_.steps;
  counts_.drafted += drafted;
  counts_.accepted += accepted;
  drafted_ = drafted;
  accepted_ = accepted;
  ++steps_;
  length_.Learn(drafted, accepted);
}

}  // namespace aster::engine
