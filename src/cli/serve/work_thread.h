// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Does work for the server's API, one piece after the other on a thread of its own, so that
// requests for answers never wait for it. Must not know what the work is.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/result.h"

namespace aster::cli {

// Safe for concurrent use.
class WorkThread {
 public:
  using Work = std::function<Result<std::string>()>;
  using Done = std::function<void(Result<std::string>)>;

  // `what`: the kind of work, for errors: "changes of the cluster".
  explicit WorkThread(std::string what);
  ~WorkThread();
  WorkThread(const WorkThread&) = delete;
  WorkThread& operator=(const WorkThread&) = delete;

  // Waits for accepted work, and refuses all other.
  void Stop() EXCLUDES(mu_);

  // Each `done` is called once: on the thread, or at once if the work is refused.
  void Add(Work work, Done done) EXCLUDES(mu_);

 private:
  struct Piece {
    Work work;
    Done done;
  };

  void Run() EXCLUDES(mu_);

  const std::string what_;

  Mutex mu_;
  CondVar changed_;
  std::deque<Piece> waiting_ GUARDED_BY(mu_);
  bool is_ending_ GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace aster::cli
