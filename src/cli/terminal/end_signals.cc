// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/terminal/end_signals.h"

#include <utility>

namespace aster::cli {

EndSignals::EndSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  watcher_ = std::thread([this] {
    int signal = 0;
    for (bool again = false; sigwait(&signals_, &signal) == 0 && !is_over_; again = true)
      Take(signal, again);
  });
}

void EndSignals::Take(int signal, bool again) {
  std::function<void(bool)> end;
  {
    const MutexLock lock(mu_);
    end = end_;
  }
  if (end) return end(again);
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  raise(signal);
}

void EndSignals::Watch(std::function<void(bool)> end) {
  const MutexLock lock(mu_);
  end_ = std::move(end);
}

void EndSignals::Keep() {
  Watch([this](bool again) {
    if (!again) kept_.release();
  });
}

void EndSignals::Unwatch() {
  if (!watcher_.joinable()) return;
  // Wakes the thread, which waits for a signal from any sender.
  is_over_ = true;
  pthread_kill(watcher_.native_handle(), SIGTERM);
  watcher_.join();
}

}  // namespace aster::cli
