// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How long stages currently take for a kind of frame: frames with about as many rows, of texts of
// about the same length. Must not know requests, nor nodes.
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
    uint32_t kind = 0;     // of frames; 0: nothing is known
    double own_ns = 0;     // the node, or the leader of the group, takes for a frame, or for a
                           // row of long frames
    double others_ns = 0;  // it waited for the other nodes of its group; 0: there are none
  };
  // Whether times of this kind are of one row of many; else of a whole frame, which reads the
  // weights once.
  static constexpr bool IsOfRow(uint32_t kind) { return kind / kDepths > kFewRows; }

  // Another route is opened, of this many stages.
  void Reset(size_t stages) { stages_.assign(stages, {}); }
  // A frame of `rows` rows, of texts up to `length`, went through the stages from `first_stage`
  // on.
  void Learn(uint32_t first_stage, uint32_t rows, uint32_t length, std::span<const wire::Hop> hops,
             int64_t now_ns);
  // By stage: the pace of the newest kind with enough frames, unless that is older than
  // `oldest_ns`.
  std::vector<Pace> Paces(int64_t now_ns, int64_t oldest_ns) const;

 private:
  // The kind of a frame with few rows is their number; of a longer one, its magnitude, and
  // times are of a row. Texts count by the magnitude of their length.
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
