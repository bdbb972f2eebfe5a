// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Turns of models that share the cores of one machine: they compute one after another, in the order
// of their calls. Must not know what is computed.
#pragma once

#include <cstdint>

#include "base/mutex.h"

namespace aster::serve {

// Safe for concurrent use.
class Turns {
 public:
  // Waits for all earlier calls.
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

// One turn, as long as this object lives. With null it does not wait.
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
