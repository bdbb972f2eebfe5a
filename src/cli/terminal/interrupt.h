// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Ctrl-C as a flag to check, instead of the end of the program. Must not know what is interrupted.
#pragma once

#include <csignal>

namespace aster::cli {

// While it exists, Ctrl-C only sets a flag, and blocking system calls return with EINTR. One at a
// time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // Since the last Clear.
  static bool Interrupted();
  static void Clear();
  // As if a user had pressed Ctrl-C.
  static void Interrupt();

 private:
  struct sigaction earlier_ = {};
};

}  // namespace aster::cli
