// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether draft tokens on a route may go on: what they have gained and lost by the time from one
// frame to the next, whatever stages' times and acceptance rates promise. Must not know frames, nor
// clocks.
#pragma once

#include <cstdint>

#include "base/typical.h"
#include "engine/draft_account.h"

namespace aster::conduct {

// A pure function of what it was told. Not for concurrent use.
class DraftLedger {
 public:
  // From a frame without draft tokens to the next one.
  void LearnPlain(double ns);
  // From a frame with draft tokens, here or in frames ahead, to the first one behind a wrong draft
  // token: it took so long, and of that the drafter read a text that it had not seen for
  // `begin_ns`.
  void LearnRun(uint32_t tokens, double ns, double begin_ns);
  // `begin_ns`: what the drafter would read first takes that long; 0: nothing is to be read.
  // Until it is known what a token takes there are none; but where other requests are always in
  // between, that is never known, and nothing is counted.
  bool MayDraft(double begin_ns);

 private:
  // The first token behind a prompt may take longer than others.
  static constexpr uint32_t kFewest = 3;
  static constexpr uint32_t kPatience = 8;
  static constexpr uint32_t kLast = 16;
  // A time that is so many times as long as others was held up by something else. It counts, as it
  // does for users, but not for more.
  static constexpr double kHeldUp = 4;

  bool is_known() const { return plain_count_ >= kFewest; }
  // Of few times, one that was held up would be much of the average.
  double plain_ns() const { return plain_count_ < kLast / 2 ? typical_ns_.value() : average_ns_; }
  double CostOf(double ns) const { return ns / plain_ns(); }

  Typical typical_ns_;
  double average_ns_ = 0;     // of the last ones
  uint32_t plain_count_ = 0;  // up to kLast
  uint32_t waited_ = 0;       // decisions without draft tokens until then
  bool has_begun_ = false;
  engine::DraftAccount account_;
};

}  // namespace aster::conduct
