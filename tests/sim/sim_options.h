// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The seeds that a simulation runs. Must not know what a seed is for.
#pragma once

#include <cstdint>

namespace aster::sim {

struct SimOptions {
  uint64_t seeds = 0;
  uint64_t first = 0;
  bool print = false;  // the trace of every seed
};

// The options of this program's command line.
SimOptions& Options();

}  // namespace aster::sim
