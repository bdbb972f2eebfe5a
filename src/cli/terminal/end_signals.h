// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Ctrl-C and the signal that ends services, as something to wait for. Must not know what is ended.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

namespace aster::cli {

// Blocks SIGINT and SIGTERM in the thread that makes it and in those started from then on, so that
// only the thread that waits here gets them. They stay blocked: a program that is asked to end a
// second time, while it ends, still ends as it was asked to.
class EndSignals {
 public:
  EndSignals();
  ~EndSignals() { Unwatch(); }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  // Until the next one.
  void Wait() const;

  // `end` is called by another thread at each of them, with true where it is not the first, until
  // Unwatch.
  void Watch(std::function<void(bool)> end);
  void Unwatch();

 private:
  sigset_t signals_ = {};
  std::atomic<bool> is_over_ = false;
  std::thread watcher_;
};

}  // namespace aster::cli
