// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What stages take for frames of a kind at the moment: those of as many rows behind texts of about
// the same length are alike. Must not know requests, nor nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/typical.h"
#include "wire/messages.h"

namespace aster::conduct {

// Not for concurrent use.
class StagePace {
 public:
  struct Pace {
    uint32_t kind = 0;  // of frames; 0: nothing is known
    double own_ns = 0;  // of the node, or the one that leads the group: a frame, or a row of long
                        // ones
    double others_ns = 0;  // of the others of its group, which it waited for; 0: there are none
  };
  // Whether times of this kind are those of a whole frame that reads the weights once, or of a row
  // of many.
  static constexpr bool IsOfRow(uint32_t kind) { return kind / kDepths > kFewRows; }

  // Another route is opened, of this many stages.
  void Reset(size_t stages) { stages_.assign(stages, {}); }
  // A frame of `rows` rows, of texts up to `length`, went through the stages from `first_stage`
  // on.
  void Learn(uint32_t first_stage, uint32_t rows, uint32_t length, std::span<const wire::Hop> hops,
             int64_t now_ns);
  // By stage, of the newest kind of frames of which there were enough; of none that is older.
  std::vector<Pace> Paces(int64_t now_ns, int64_t oldest_ns) const;

 private:
  // Frames of few rows by their number; longer ones by its magnitude, and by the row. Texts by the
  // magnitude of their length.
  static constexpr uint32_t kFewRows = 16;
  static constexpr uint32_t kDepths = 32;
  static constexpr uint32_t kEnough = 5;  // frames make a time

  struct Times {
    Typical typical;
    uint32_t count = 0;
  };
  struct Stage {
    std::map<uint32_t, Times> own;  // by kind
    std::map<uint32_t, Times> others;
    uint32_t kind = 0;  // of the newest frame of which there were enough
    int64_t seen_ns = 0;
  };

  std::vector<Stage> stages_;
};

}  // namespace aster::conduct
