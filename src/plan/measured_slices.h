// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a node took for layers of the model that is planned for: it corrects what rates of other
// matrices promise. Only numbers: must not know where they come from.
#pragma once

#include <cstdint>
#include <span>

#include "plan/frame_shape.h"
#include "plan/model_load.h"
#include "plan/split_search.h"

namespace aster::plan {

// What a node took lately for layers of the model that is planned for; times of 0 are not known.
// There may be several of a slice, each with frames of another length.
struct MeasuredSlice {
  // Of a frame of so many rows, of a text so long.
  struct Times {
    double seconds = 0;
    uint32_t rows = 0;
    uint32_t context = 0;
    double waited_s = 0;  // beside `seconds`, for the other nodes of a group; 0: not known
  };
  uint32_t begin = 0;
  uint32_t end = 0;
  bool head = false;  // whether it was computed too, for the last row
  double part = 1;    // of what a group computes of them
  Times token;        // one row
  Times chunk;        // of a prompt
};

enum class ComputedBy : uint8_t { kNodeAlone, kGroup };

// Corrects a node of the problem, whose times are those that its rates promise. Whichever of the
// model's layers it had counts, by what they were expected to take: of groups what it took in
// groups, where anything is known of that, and so on. How its frames grow.
FrameShape CorrectBy(std::span<const MeasuredSlice> measured, const ModelLoad& load,
                     uint32_t chunk_tokens, const SplitProblem& problem, ComputedBy by,
                     SplitProblem::Node& node);

}  // namespace aster::plan
