// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What was read and written since the last barrier: whether the next piece of work has to wait for
// one. Must not know what the work is.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

// Some bytes of device memory; none where it is empty.
struct Range {
  Address begin = 0;
  uint64_t bytes = 0;
};

// Whether they have a byte in common.
bool Overlap(const Range& a, const Range& b);

class Hazards {
 public:
  // Takes note of work, and says whether a barrier has to come before it: where it reads what was
  // written, or writes what was read or written.
  bool NeedsBarrier(std::initializer_list<Range> reads, std::initializer_list<Range> writes);
  // There is one.
  void Clear();

 private:
  std::vector<Range> reads_;
  std::vector<Range> writes_;
};

}  // namespace aster::vulkan
