// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Durations and rates for users. Must not know what was timed.
#pragma once

#include <cstdint>

namespace aster::cli {

inline double Seconds(int64_t duration_ns) { return static_cast<double>(duration_ns) * 1e-9; }

// 0 if no time passed.
inline double PerSecond(uint64_t count, int64_t duration_ns) {
  return duration_ns <= 0 ? 0 : static_cast<double>(count) / Seconds(duration_ns);
}

}  // namespace aster::cli
