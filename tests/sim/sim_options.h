// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which seeds a simulation looks at. Must not know what a seed is for.
#pragma once

#include <cstdint>

namespace aster::sim {

struct SimOptions {
  uint64_t seeds = 0;
  uint64_t first = 0;
  bool print = false;  // the trace of every seed
};

// Of this program's command line.
SimOptions& Options();

}  // namespace aster::sim
