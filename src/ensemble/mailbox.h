// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Work that other threads post for the thread of an ensemble, which does it in its next step. Must
// not know what it is.
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
  using Task = std::function<void()>;

  void Post(Task task) EXCLUDES(mu_) {
    {
      const MutexLock lock(mu_);
      tasks_.push_back(std::move(task));
    }
    posted_.NotifyAll();
  }
  // In the order of posting.
  std::vector<Task> TakeAll() EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    return std::exchange(tasks_, {});
  }
  // Waits until there is one, or until the deadline.
  void Await(Clock& clock, int64_t deadline_ns) EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    while (tasks_.empty() && clock.WaitUntil(posted_, mu_, deadline_ns)) {
    }
  }

 private:
  Mutex mu_;
  CondVar posted_;
  std::vector<Task> tasks_ GUARDED_BY(mu_);
};

}  // namespace aster::ensemble
