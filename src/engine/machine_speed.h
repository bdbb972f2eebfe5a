// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How fast this machine does what models mostly do: products of packed matrices with many rows
// (prompts), and with one (single tokens, where memory is what counts). For dividing a model among
// machines; the machine's limits, which no program reaches, are machine_limits.h. Must not know
// models.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "compute/backend.h"
#include "kernels/isa.h"
#include "vulkan/kernel_use.h"

namespace aster::engine {

struct MachineSpeed {
  double multiply_flops_per_s = 0;  // two for each multiply-add
  double memory_bytes_per_s = 0;    // of packed weights
  // What was measured: "q8_0, 2 threads, avx2: 4096 x 1024 with 128 rows; 64.0 MiB with 1 row".
  std::string how;
};

// Always the same work on the same numbers, by all threads of the pool; the best of some passes.
// About a third of a second, and memory for less than half a gigabyte while it lasts.
Result<MachineSpeed> MeasureSpeed(ThreadPool& pool, kernels::Isa isa, const Clock& clock);

// The same of a device, whose batches are as long as that what each costs by itself does not count;
// and of the way between its memory and the host's.
struct DeviceSpeed {
  double multiply_flops_per_s = 0;
  double memory_bytes_per_s = 0;
  double bus_round_trip_s = 0;  // of a batch that takes one row there and back
  double bus_bytes_per_s = 0;   // of many rows, there or back
};
// With these kernels.
vulkan::KernelUse MeasuredUse();
Result<DeviceSpeed> MeasureDevice(compute::Backend& backend, const Clock& clock);

// For tests.
namespace machine_speed_internal {

// Of weights that single tokens are measured with, beside a cache of that size, where that much
// memory is available: a node in a small control group must not be killed for measuring itself.
uint64_t StreamBytes(uint64_t cache_bytes, uint64_t available_bytes);

}  // namespace machine_speed_internal

}  // namespace aster::engine
