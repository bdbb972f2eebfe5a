// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A drafter of speculative decoding: proposes draft tokens, how a text goes on. They are only ever
// checked: whatever is proposed, the answer is the one that would have come without. Must not know
// who checks them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"

namespace aster::engine {

struct Request;

enum class DraftKind : uint8_t {
  kNone,
  kNgram,       // from what the text says already
  kNextTokens,  // by the model's own block for it
  kModel,       // by a smaller model, or by another machine
};

// The most drafts of a step, more than any KV layout has slack to take back.
inline constexpr uint32_t kMostDrafts = 32;

struct DraftOptions {
  DraftKind kind = DraftKind::kNone;
  uint32_t most = 4;  // draft tokens that are checked at once, 1 to kMostDrafts
  // Frames of one answer in flight on a route, at most; 1: nothing goes ahead of what is checked.
  uint32_t frames = kMostDrafts;

  bool operator==(const DraftOptions&) const = default;
};

// The rows of the model that a drafter looks at. They are fetched for it only then: others are told
// the text alone.
enum class Follows : uint8_t {
  kNothing,
  kHidden,  // behind the last layer
  kTapped,  // behind the layers that it has tapped (model/forward/forward.h)
};

// Of one answer, whose history only grows. Not for concurrent use.
class Proposer {
 public:
  virtual ~Proposer() = default;

  virtual Follows follows() const { return Follows::kNothing; }
  // The tokens from `begin` on stay. `rows` [tokens, …] are those that it follows, until this
  // returns, or none. History may go on behind them. Some may be left out (they
  // were cached), and some come again (they were computed again).
  virtual void Follow(std::span<const int32_t> history, uint32_t begin,
                      std::span<const float> rows) {
    static_cast<void>(history), static_cast<void>(begin), static_cast<void>(rows);
  }

  // Appends up to `most` tokens that may come behind the history. Nothing depends on whether they
  // are right, or tokens at all; an error counts as none.
  virtual Status Propose(std::span<const int32_t> history, uint32_t most,
                         std::vector<int32_t>& drafts) = 0;
};

class ProposerSource {
 public:
  virtual ~ProposerSource() = default;

  // For the answer to a request, as its `draft` says. An error where that cannot be had here.
  virtual Result<std::unique_ptr<Proposer>> Make(const Request& request) = 0;
};

}  // namespace aster::engine
