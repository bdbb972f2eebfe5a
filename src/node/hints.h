// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Addresses at which, by messages on the network, a node of the cluster may be. They wait to be
// asked, at a bounded rate however many there are. Must not know who sends such messages.
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
  int64_t period_ns = 5 * kNsPerSecond;  // and until the same one is asked again
};

// Not for concurrent use.
class Hints {
 public:
  explicit Hints(HintLimits limits = {}) : limits_(limits) {}

  // False if the address has come lately, or if too many have.
  bool Add(const std::string& address, int64_t now_ns);
  bool empty() const { return waiting_.empty(); }
  // The next one to be asked; there is one.
  std::string Take();

 private:
  const HintLimits limits_;
  std::map<std::string, int64_t> lately_;  // when they came
  std::deque<std::string> waiting_;
};

}  // namespace aster::node
