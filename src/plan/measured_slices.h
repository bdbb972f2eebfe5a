// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Times that a node took for layers of the model that is planned for. They correct predictions from
// the rates of other matrices. Only numbers: must not know where they come from.
#pragma once

#include <cstdint>
#include <span>

#include "plan/frame_shape.h"
#include "plan/model_load.h"
#include "plan/split_search.h"

namespace aster::plan {

// Recent times of a node for layers of the model that is planned for; 0: not known. A slice may
// have several, each for frames of another length.
struct MeasuredSlice {
  // The times of a frame with so many rows, of a text of this length.
  struct Times {
    double seconds = 0;
    uint32_t rows = 0;
    uint32_t context = 0;
    double waited_s = 0;  // beside `seconds`, for the other nodes of a group; 0: not known
  };
  uint32_t begin = 0;
  uint32_t end = 0;
  bool head = false;  // whether it was computed too, for the last row
  double part = 1;    // the node's share of what its group computes; 1: it computes alone
  Times token;        // one row
  Times chunk;        // of a prompt
};

enum class ComputedBy : uint8_t { kNodeAlone, kGroup };

// Corrects a node of the problem, whose times follow from its rates, by the ratio of measured to
// expected times of all layers that it had. Times in groups count for groups, and times alone for
// everything else, where there are some. Returns how the time of its frames grows with their rows.
FrameShape CorrectBy(std::span<const MeasuredSlice> measured, const ModelLoad& load,
                     uint32_t chunk_tokens, const SplitProblem& problem, ComputedBy by,
                     SplitProblem::Node& node);

}  // namespace aster::plan
