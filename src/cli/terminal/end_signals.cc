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
}

void EndSignals::Wait() const {
  int signal = 0;
  sigwait(&signals_, &signal);
}

void EndSignals::Watch(std::function<void(bool)> end) {
  watcher_ = std::thread([this, end = std::move(end)] {
    int signal = 0;
    for (bool again = false; sigwait(&signals_, &signal) == 0 && !is_over_; again = true)
      end(again);
  });
}

void EndSignals::Unwatch() {
  if (!watcher_.joinable()) return;
  // It waits for a signal, wherever it comes from.
  is_over_ = true;
  pthread_kill(watcher_.native_handle(), SIGTERM);
  watcher_.join();
}

}  // namespace aster::cli
