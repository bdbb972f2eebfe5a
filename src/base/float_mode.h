// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The floating-point mode that all arithmetic on model values runs in, on every machine: round to
// nearest even, denormal inputs and results taken as zero, no traps. The mode belongs to a thread;
// compute threads set it once, other threads borrow it with the guard below.
//
// One difference between instruction sets cannot be switched off: x86 decides whether a result is
// denormal after rounding it, older arm64 before. Results that round up to exactly the smallest
// normal number (2^-126) may therefore differ; the kernels' tests keep away from there.
#pragma once

#include <cstdint>

namespace aster {

// Sets the compute mode on this thread, and puts the earlier mode back when it is destroyed (on the
// same thread).
class ComputeFloatMode {
 public:
  ComputeFloatMode();
  ~ComputeFloatMode();
  ComputeFloatMode(const ComputeFloatMode&) = delete;
  ComputeFloatMode& operator=(const ComputeFloatMode&) = delete;

 private:
  uint64_t earlier_;  // the control register's value
};

// The same for the mode that programs start in, which keeps denormals: for reading and converting
// numbers exactly on a thread that may be computing.
class ExactFloatMode {
 public:
  ExactFloatMode();
  ~ExactFloatMode();
  ExactFloatMode(const ExactFloatMode&) = delete;
  ExactFloatMode& operator=(const ExactFloatMode&) = delete;

 private:
  uint64_t earlier_;
};

// Whether this thread is in the compute mode now.
bool InComputeFloatMode();

}  // namespace aster
