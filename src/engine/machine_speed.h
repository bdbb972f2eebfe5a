// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How fast this machine computes the main work of models: products of packed matrices with many
// rows (prompts), and with one row (single tokens, limited by memory bandwidth). Used to divide a
// model among machines; machine_limits.h has the roofline, which no program reaches. Must not know
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
  // The conditions: "q8_0, 2 threads, avx2: 4096 x 1024 with 128 rows; 64.0 MiB with 1 row".
  std::string how;
};

// Always the same work on the same numbers, by all threads of the pool; the best of some passes.
// Takes about a third of a second, and less than half a gigabyte of memory.
Result<MachineSpeed> MeasureSpeed(ThreadPool& pool, kernels::Isa isa, const Clock& clock);

// The same for a device, with batches so long that their fixed cost does not matter; and for
// transfers between its memory and the host's.
struct DeviceSpeed {
  double multiply_flops_per_s = 0;
  double memory_bytes_per_s = 0;
  double bus_round_trip_s = 0;  // a batch that takes one row to the device and back
  double bus_bytes_per_s = 0;   // many rows, in one direction
};
// The kernels that MeasureDevice uses.
vulkan::KernelUse MeasuredUse();
Result<DeviceSpeed> MeasureDevice(compute::Backend& backend, const Clock& clock);

namespace machine_speed_internal {

// Size of the weights for single tokens, given the cache size and the available memory: a node in a
// small control group must not be killed for measuring itself.
uint64_t StreamBytes(uint64_t cache_bytes, uint64_t available_bytes);

}  // namespace machine_speed_internal

}  // namespace aster::engine
