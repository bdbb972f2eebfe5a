// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How long this node takes for slices of models, from the frames that it computed: single tokens,
// and frames of prompts of all lengths. Must not know routes, nor plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/hash.h"
#include "base/typical.h"
#include "model/parts/slice.h"

namespace aster::stage {

// The times of one slice for frames of one length; 0: not known.
struct WorkRate {
  // A typical frame.
  struct Times {
    double seconds = 0;
    uint32_t rows = 0;
    uint32_t context = 0;  // tokens of the text up to its end
    double waited_s = 0;   // in addition to `seconds`: waiting for its group; 0: not known
  };

  Hash128 fingerprint;  // of the model
  model::Slice slice;   // with the head where frames computed that too
  Times token;          // a frame of one row
  Times chunk;          // of a prompt
};

// Not for concurrent use.
class WorkRates {
 public:
  // A frame of `rows` rows took `own_s`, and waited `waited_s` more for other nodes. `slice`: the
  // layers that it was computed through; `context`: the end of its longest text.
  void Learn(const Hash128& fingerprint, const model::Slice& slice, uint32_t rows, uint32_t context,
             double own_s, double waited_s = 0);
  // The rates of slices with enough frames, the newest slice last. The first rate of a slice has
  // its tokens and its longest frames, the next ones have shorter frames.
  std::vector<WorkRate> All() const;

  // Frames of fewer rows, except those of one, do not count: they have draft tokens or several
  // answers.
  static constexpr uint32_t kFewestRows = 8;
  static constexpr size_t kMostSlices = 24;  // the newest
  static constexpr uint32_t kEnough = 3;     // frames of a token make a time; or one of a prompt

 private:
  // Medians over several requests, so that plans do not change with each request.
  struct Frames {
    TypicalOf<31> seconds;
    TypicalOf<31> waited_s;
    TypicalOf<31> rows;
    TypicalOf<31> context;
    uint32_t count = 0;

    WorkRate::Times Times(uint32_t enough) const;
  };
  struct Known {
    Hash128 fingerprint;
    model::Slice slice;
    Frames tokens;
    std::map<uint32_t, Frames> chunks;  // by the magnitude of their rows
  };

  std::vector<Known> known_;  // the newest last
};

}  // namespace aster::stage
