// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Ctrl-C and the signal that ends services, as something to wait for. Must not know what is ended.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <semaphore>
#include <thread>

#include "base/mutex.h"

namespace aster::cli {

// Takes SIGINT and SIGTERM from the thread that makes it and from threads started later. Until
// Watch or Keep they end the process at once, as without this, so a long start can be interrupted.
// They stay blocked afterwards: a second signal during the end does not change how the program
// ends.
class EndSignals {
 public:
  EndSignals();
  ~EndSignals() { Unwatch(); }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  // From now on they only end Wait.
  void Keep();
  void Wait() { kept_.acquire(); }

  // Another thread calls `end` for each of them until Unwatch, with true if it is not the first.
  void Watch(std::function<void(bool)> end) EXCLUDES(mu_);
  void Unwatch();

 private:
  void Take(int signal, bool again) EXCLUDES(mu_);

  sigset_t signals_ = {};
  Mutex mu_;
  std::function<void(bool)> end_ GUARDED_BY(mu_);
  std::binary_semaphore kept_{0};
  std::atomic<bool> is_over_ = false;
  std::thread watcher_;
};

}  // namespace aster::cli
