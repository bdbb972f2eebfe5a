// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What other threads have for the thread of an ensemble: work that it does in its next step. Must
// not know what that is.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace aster::ensemble {

// Safe for concurrent use.
class Mailbox {
 public:
  using Letter = std::function<void()>;

  void Post(Letter letter) EXCLUDES(mu_) {
    {
      const MutexLock lock(mu_);
      letters_.push_back(std::move(letter));
    }
    posted_.NotifyAll();
  }
  // In the order in which they came.
  std::vector<Letter> TakeAll() EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    return std::exchange(letters_, {});
  }
  // Until there is one, or until the deadline.
  void Await(Clock& clock, int64_t deadline_ns) EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    while (letters_.empty() && clock.WaitUntil(posted_, mu_, deadline_ns)) {
    }
  }

 private:
  Mutex mu_;
  CondVar posted_;
  std::vector<Letter> letters_ GUARDED_BY(mu_);
};

}  // namespace aster::ensemble
