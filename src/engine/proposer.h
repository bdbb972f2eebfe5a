// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A drafter of speculative decoding: proposes draft tokens that continue a text. The model checks
// them, so proposals never change the answer. Must not know who checks them.
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
  kNgram,  // from the text itself
  kMtp,    // by the model's own MTP block
  kModel,  // by a smaller model, or on another machine
};

// The most drafts of a step; more than any KV layout has slack for.
inline constexpr uint32_t kMostDrafts = 32;

struct DraftOptions {
  DraftKind kind = DraftKind::kNone;
  uint32_t most = 4;  // draft tokens that are checked at once, 1 to kMostDrafts
  // Most frames of one answer in flight on a route; 1: none before the last one was checked.
  uint32_t frames = kMostDrafts;

  bool operator==(const DraftOptions&) const = default;
};

// Which rows of the model a drafter reads. Only then they are fetched; others only get the text.
enum class Follows : uint8_t {
  kNothing,
  kHidden,  // after the last layer
  kTapped,  // after the layers that it has tapped (model/forward/forward.h)
};

// Drafts for one answer, whose history only grows. Not for concurrent use.
class Proposer {
 public:
  virtual ~Proposer() = default;

  virtual Follows follows() const { return Follows::kNothing; }
  // The tokens from `begin` on are final. `rows` [tokens, …] are those that it reads, valid during
  // the call, or none. History may have further tokens. Some rows may be missing (they were
  // cached), and some may come again (they were computed again).
  virtual void Follow(std::span<const int32_t> history, uint32_t begin,
                      std::span<const float> rows) {
    static_cast<void>(history), static_cast<void>(begin), static_cast<void>(rows);
  }

  // Appends up to `most` tokens that may follow the history. They may be wrong or invalid; an error
  // counts as none.
  virtual Status Propose(std::span<const int32_t> history, uint32_t most,
                         std::vector<int32_t>& drafts) = 0;
};

class ProposerSource {
 public:
  virtual ~ProposerSource() = default;

  // A drafter for the answer to a request, as its `draft` says. An error if there is none here.
  virtual Result<std::unique_ptr<Proposer>> Make(const Request& request) = 0;
};

}  // namespace aster::engine
