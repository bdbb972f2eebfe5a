// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Ends another thread's poll(). Must not know what that waits for.
#pragma once

#include <atomic>

#include "net/socket.h"

namespace aster::net {

// Safe for concurrent use.
class Waker {
 public:
  Waker();

  void Wake();
  // Poll it for reading.
  int descriptor() const { return event_.descriptor(); }
  // Call it before reading the state that others change: later changes wake again.
  void Reset();

 private:
  const Socket event_;
  std::atomic<bool> is_awake_ = false;
};

}  // namespace aster::net
