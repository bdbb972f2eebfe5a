// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A node's measured times for layers of the model to be planned. They correct predictions from the
// rates of other matrices. Only numbers: must not know where they come from.
#pragma once

#include <cstdint>
#include <span>

#include "plan/frame_shape.h"
#include "plan/model_load.h"
#include "plan/split_search.h"

namespace aster::plan {

// Recent times of a node for layers of this model; 0: unknown. A slice may have several, each for
// frames of another length.
struct MeasuredSlice {
  // The times of a frame with `rows` rows, of a text of length `context`.
  struct Times {
    double seconds = 0;
    uint32_t rows = 0;
    uint32_t context = 0;
    double waited_s = 0;  // in addition to `seconds`, for the other nodes of a group; 0: unknown
  };
  uint32_t begin = 0;
  uint32_t end = 0;
  bool head = false;  // whether it was computed too, for the last row
  double part = 1;    // the node's share of its group's work; 1: it computes alone
  Times token;        // one row
  Times chunk;        // a frame of a prompt
};

enum class ComputedBy : uint8_t { kNodeAlone, kGroup };

// Corrects a node of the problem, whose times follow from its rates, by the ratio of measured to
// predicted times of all its layers. Times in groups count for groups, and times alone for
// everything else, if there are any. Returns how the time of its frames grows with their rows.
FrameShape CorrectBy(std::span<const MeasuredSlice> measured, const ModelLoad& load,
                     uint32_t chunk_tokens, const SplitProblem& problem, ComputedBy by,
                     SplitProblem::Node& node);

}  // namespace aster::plan
