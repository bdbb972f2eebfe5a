// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The thread of an ensemble in a server: takes questions from many clients, and cancels those whose
// client is gone or whose time is over. Must not know HTTP, nor how members are computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "ensemble/ensemble.h"
#include "serve/answer_loop.h"

namespace aster::serve {

// The loop's thread calls the functions.
struct EnsembleJob {
  std::shared_ptr<ensemble::QuestionRun> question;
  int64_t deadline_ns = kNeverNs;
  std::function<bool()> is_gone;
  ensemble::OnAnswer on_answer;
  ensemble::OnPiece on_piece = nullptr;  // null: none
};

// Run belongs to one thread, the ensemble's; the rest is safe for concurrent use.
class EnsembleLoop {
 public:
  // Both outlive it. At most `most` questions at once.
  EnsembleLoop(ensemble::Ensemble& ensemble, Clock& clock, size_t most)
      : ensemble_(ensemble), clock_(clock), most_(most) {}

  const ensemble::Ensemble& ensemble() const { return ensemble_; }

  // All jobs or none; ResourceExhausted if there are too many, Unavailable if the loop ends.
  Status Submit(std::vector<EnsembleJob> jobs) EXCLUDES(mu_);
  // Answers until Stop, and then until the submitted jobs are answered or the grace is over. The
  // loops of members must run until it returns.
  void Run() EXCLUDES(mu_);
  void Stop(int64_t grace_ns) EXCLUDES(mu_);

  AnswerLoopState state() const EXCLUDES(mu_);

 private:
  struct Active {
    EnsembleJob job;
    bool is_answered = false;
  };

  void Begin(const std::shared_ptr<Active>& active) EXCLUDES(mu_);
  bool GoesOn() const EXCLUDES(mu_);
  void CancelLeft();

  ensemble::Ensemble& ensemble_;
  Clock& clock_;
  const size_t most_;

  std::vector<std::shared_ptr<Active>> active_;  // used by the loop's thread

  mutable Mutex mu_;
  size_t count_ GUARDED_BY(mu_) = 0;  // submitted and not answered yet
  std::optional<int64_t> stop_ns_ GUARDED_BY(mu_);
};

}  // namespace aster::serve
