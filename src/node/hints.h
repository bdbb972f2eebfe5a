// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Addresses where a node of the cluster may be, by announcements on the network. They are asked at
// a bounded rate, however many arrive. Must not know how they are announced.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"

namespace aster::node {

struct HintLimits {
  size_t addresses = 16;                 // within a period
  int64_t period_ns = 5 * kNsPerSecond;  // and until the same address is asked again
};

// Not for concurrent use.
class Hints {
 public:
  explicit Hints(HintLimits limits = {}) : limits_(limits) {}

  // False if the address was added lately, or if too many are waiting.
  bool Add(const std::string& address, int64_t now_ns);
  bool empty() const { return waiting_.empty(); }
  // Removes the next address to ask; there must be one.
  std::string Take();

 private:
  const HintLimits limits_;
  std::map<std::string, int64_t> lately_;  // when they were added
  std::deque<std::string> waiting_;
};

}  // namespace aster::node
