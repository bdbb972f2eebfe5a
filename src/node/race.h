// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Tries several ways to reach something and takes the fastest: the first has a head start, then all
// others are tried at the same time. Must not know what the ways are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/clock.h"

namespace aster::node {

enum class Outcome : uint8_t {
  kArrived,
  kRefused,  // reached, and says no: the others lead to the same
  kFailed,
};

struct Race {
  size_t count = 0;           // number of ways
  int64_t head_start_ns = 0;  // for the first one, unless it fails earlier
  // Called on a thread for each way.
  std::function<Outcome(size_t)> attempt;
  // The attempt, which may not have begun or may be over, should end soon.
  std::function<void(size_t)> give_up;
};

// The way that arrived or was refused first; nullopt if all have failed. No attempt runs any more
// when it returns.
std::optional<size_t> RunRace(const Race& race, Clock& clock);

}  // namespace aster::node
