// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Pulls models for the server's API, as `aster pull` does on the command line, one after the other
// on a thread of its own. Must not know HTTP replies, nor who may ask.
#pragma once

#include <atomic>
#include <deque>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "serve/model_pulls.h"

namespace aster::cli {

// Safe for concurrent use.
class PullWorker final : public serve::ModelPulls {
 public:
  PullWorker();
  ~PullWorker() override;
  PullWorker(const PullWorker&) = delete;
  PullWorker& operator=(const PullWorker&) = delete;

  // Ends the running pull (its bytes are kept for the next one), and refuses all others.
  void Stop() EXCLUDES(mu_);

  void Pull(std::string source, Listener listener) override EXCLUDES(mu_);

 private:
  struct QueuedPull {
    std::string source;
    Listener listener;
  };

  void Run() EXCLUDES(mu_);
  Result<std::string> PullNow(const QueuedPull& queued) const;

  std::atomic<bool> is_ending_ = false;
  Mutex mu_;
  CondVar changed_;
  std::deque<QueuedPull> queue_ GUARDED_BY(mu_);  // waiting ones
  std::thread thread_;
};

}  // namespace aster::cli
