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

// Functions are called on the loop's thread.
struct EnsembleJob {
  std::shared_ptr<ensemble::Asked> question;
  int64_t deadline_ns = kNeverNs;
  std::function<bool()> is_gone;
  ensemble::OnAnswer on_answer;
  ensemble::OnPiece on_piece = nullptr;  // or null
};

// Run belongs to one thread, which is the ensemble's; the rest is safe for concurrent use.
class EnsembleLoop {
 public:
  // Both outlive it. At most `most` questions at once.
  EnsembleLoop(ensemble::Ensemble& ensemble, Clock& clock, size_t most)
      : ensemble_(ensemble), clock_(clock), most_(most) {}

  const ensemble::Ensemble& ensemble() const { return ensemble_; }

  // All of them or none; ResourceExhausted where there are too many, Unavailable where it ends.
  Status Submit(std::vector<EnsembleJob> jobs) EXCLUDES(mu_);
  // Answers until Stop, and until what has been submitted then is answered or the grace is over.
  // The loops of members have to run until it returns.
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

  std::vector<std::shared_ptr<Active>> active_;  // of the loop's thread

  mutable Mutex mu_;
  size_t count_ GUARDED_BY(mu_) = 0;  // that are submitted and not answered
  std::optional<int64_t> stop_ns_ GUARDED_BY(mu_);
};

}  // namespace aster::serve
