// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The roofline of this machine, measured: memory bandwidth, and the peak of small integer products.
// Rates of a model are compared with it. Must not know models.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "compute/buffer.h"

namespace aster::engine {

struct MachineLimits {
  double read_bytes_per_s = 0;     // all threads together, from memory, not from caches
  double multiply_adds_per_s = 0;  // of bytes, summed in 32 bits, all threads together
  std::string dot_instruction;     // the one that reaches it
};

// Keeps the memory that it reads, for several thread counts.
class LimitMeter {
 public:
  // A buffer of this size; 0: far larger than the caches, but at most a quarter of the free memory.
  static Result<LimitMeter> Create(uint64_t buffer_bytes = 0);

  // Each limit is the best of several runs of every loop that this machine supports, so that
  // another program that disturbs some of them does not matter. Takes about a fifth of a second.
  MachineLimits Measure(ThreadPool& pool, const Clock& clock) const;

 private:
  explicit LimitMeter(compute::Buffer buffer) : buffer_(std::move(buffer)) {}

  compute::Buffer buffer_;
};

}  // namespace aster::engine
