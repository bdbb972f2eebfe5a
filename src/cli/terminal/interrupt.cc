// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/terminal/interrupt.h"

namespace aster::cli {
namespace {

// Signal handlers can only set a global flag.
volatile std::sig_atomic_t interrupted = 0;

void OnInterrupt(int /*signal*/) { interrupted = 1; }

}  // namespace

InterruptGuard::InterruptGuard() {
  Clear();
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // without SA_RESTART: a thread that waits for a key wakes up
  sigaction(SIGINT, &action, &earlier_);
}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &earlier_, nullptr); }

bool InterruptGuard::Interrupted() { return interrupted != 0; }

void InterruptGuard::Clear() { interrupted = 0; }

void InterruptGuard::Interrupt() { interrupted = 1; }

}  // namespace aster::cli
