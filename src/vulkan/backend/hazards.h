// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The memory that was read and written since the last barrier, to know whether the next work needs
// one. Must not know what the work is.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

// A range of device memory; may be empty.
struct Range {
  Address begin = 0;
  uint64_t bytes = 0;
};

// Whether they have a byte in common.
bool Overlap(const Range& a, const Range& b);

class Hazards {
 public:
  // Notes work. Returns whether a barrier has to come before it: if it reads memory that was
  // written, or writes memory that was read or written.
  bool NeedsBarrier(std::initializer_list<Range> reads, std::initializer_list<Range> writes);
  // A barrier was recorded.
  void Clear();

 private:
  std::vector<Range> reads_;
  std::vector<Range> writes_;
};

}  // namespace aster::vulkan
