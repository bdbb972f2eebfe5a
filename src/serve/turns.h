// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whose turn it is, where several models share the cores of one machine: they compute one after
// another, in the order in which they came. Must not know what is computed.
#pragma once

#include <cstdint>

#include "base/mutex.h"

namespace aster::serve {

// Safe for concurrent use.
class Turns {
 public:
  // Waits for everybody who came before.
  void Take() EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    const uint64_t mine = next_++;
    while (mine != serving_) changed_.Wait(mu_);
  }
  void GiveBack() EXCLUDES(mu_) {
    {
      const MutexLock lock(mu_);
      ++serving_;
    }
    changed_.NotifyAll();
  }

 private:
  Mutex mu_;
  CondVar changed_;
  uint64_t next_ GUARDED_BY(mu_) = 0;
  uint64_t serving_ GUARDED_BY(mu_) = 0;
};

// One turn, for as long as this lives. With null there is nothing to wait for.
class Turn {
 public:
  explicit Turn(Turns* turns) : turns_(turns) {
    if (turns_ != nullptr) turns_->Take();
  }
  ~Turn() {
    if (turns_ != nullptr) turns_->GiveBack();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Turns* const turns_;
};

}  // namespace aster::serve
