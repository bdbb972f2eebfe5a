// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/speculation.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace aster::engine {
namespace {

// A guess that is right less often costs more than it saves: it takes a row of the model, and
// somebody has to make it.
constexpr float kWorthwhile = 0.35F;
// How much one guess tells about the next.
constexpr float kNews = 0.12F;
// Steps without guesses before another try.
constexpr uint32_t kPause = 16;

}  // namespace

uint32_t DraftLength::Next() {
  uint32_t length = 0;
  float right = rate_;  // how often all guesses up to this one are
  while (length < most_ && right >= kWorthwhile) {
    ++length;
    right *= rate_;
  }
  if (length > 0) return length;
  if (++left_out_ < kPause) return 0;
  left_out_ = 0;
  return 1;
}

void DraftLength::Learn(uint32_t drafted, uint32_t accepted) {
  for (uint32_t i = 0; i < accepted; ++i) rate_ += kNews * (1 - rate_);
  if (accepted < drafted) rate_ -= kNews * rate_;
}

Speculation::Speculation(std::unique_ptr<Proposer> proposer, uint32_t most, uint32_t vocab_size)
    : proposer_(std::move(proposer)), vocab_size_(vocab_size), length_(most) {
  CHECK(proposer_ != nullptr && most >= 1 && most <= kMostDrafts);
}

std::span<const int32_t> Speculation::Guess(std::span<const int32_t> history, uint32_t room) {
  guess_.clear();
  if (room == 0) return guess_;
  const uint32_t most = std::min(room, length_.Next());
  if (most == 0) return guess_;
  if (!proposer_->Propose(history, most, guess_).ok()) guess_.clear();
  if (guess_.size() > most) guess_.resize(most);
  const auto is_none = [this](int32_t token) {
    return token < 0 || static_cast<uint32_t>(token) >= vocab_size_;
  };
  guess_.erase(std::ranges::find_if(guess_, is_none), guess_.end());
  return guess_;
}

void Speculation::Learn(uint32_t drafted, uint32_t accepted) {
  DCHECK(accepted <= drafted);
  ++counts_.steps;
  counts_.drafted += drafted;
  counts_.accepted += accepted;
  length_.Learn(drafted, accepted);
}

}  // namespace aster::engine
