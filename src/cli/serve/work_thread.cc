// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/serve/work_thread.h"

#include <fmt/format.h>

#include <utility>

namespace aster::cli {
namespace {

constexpr size_t kMaxWaiting = 16;

}  // namespace

WorkThread::WorkThread(std::string what) : what_(std::move(what)), thread_([this] { Run(); }) {}

WorkThread::~WorkThread() { Stop(); }

void WorkThread::Stop() {
  {
    const MutexLock lock(mu_);
    is_ending_ = true;
  }
  changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void WorkThread::Add(Work work, Done done) {
  Error why = ResourceExhausted(fmt::format("too many {} are waiting; try again later", what_));
  {
    const MutexLock lock(mu_);
    if (waiting_.size() < kMaxWaiting && !is_ending_) {
      waiting_.push_back({std::move(work), std::move(done)});
      changed_.NotifyAll();
      return;
    }
    if (is_ending_) why = Error(Code::kUnavailable, "the server is shutting down");
  }
  done(why);
}

void WorkThread::Run() {
  for (;;) {
    Piece piece;
    {
      const MutexLock lock(mu_);
      while (waiting_.empty() && !is_ending_) changed_.Wait(mu_);
      if (waiting_.empty()) return;
      piece = std::move(waiting_.front());
      waiting_.pop_front();
    }
    piece.done(piece.work());
  }
}

}  // namespace aster::cli
