// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Passes the requests of many clients to one Generator: a bounded queue, in turn between clients
// (rate limit: more requests get 429), in which one client cannot take all places. A request is
// cancelled as soon as its client disconnects. Keeps the sequences of the last few conversations,
// so that their next turn computes only its new tokens. Must not know HTTP, nor the contents of
// requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "engine/generator.h"
#include "serve/turns.h"
#include "serve/waiting_jobs.h"

namespace aster::serve {

struct AnswerLoopOptions {
  // Jobs that have not begun. A quarter as many more are for keys of which none waits.
  size_t max_queued = 256;
  size_t max_running = 64;
  Turns* turns = nullptr;  // shared with other loops on the same cores; outlives it; null: none
  // Called on the loop's thread after each step; null: nothing.
  std::function<void()> on_step = nullptr;
};

struct AnswerLoopState {
  size_t queued = 0;
  size_t running = 0;
  bool has_failed = false;  // nothing can be answered any more
  bool is_ending = false;
};

// Run belongs to one thread, the Generator's; the rest is safe for concurrent use.
class AnswerLoop {
 public:
  // Both outlive it.
  AnswerLoop(engine::Generator& generator, const Clock& clock, AnswerLoopOptions options);
  ~AnswerLoop();

  // InvalidArgument if a request with so many jobs can never be submitted.
  Status CheckCount(size_t jobs) const;
  // All jobs of a client, or none; ResourceExhausted if too many wait, Unavailable if the loop
  // ends.
  Status Submit(std::vector<std::unique_ptr<Job>> jobs) EXCLUDES(mu_);
  // A follow-up job of a request with a job that has finished: it is accepted, as the request was,
  // however many wait. If the loop cannot answer any more, the job is refused before this returns.
  void Follow(std::unique_ptr<Job> job) EXCLUDES(mu_);

  // Answers until Stop, and then until the submitted jobs are finished or the grace is over.
  void Run() EXCLUDES(mu_);
  void Stop(int64_t grace_ns) EXCLUDES(mu_);

  // Calls `work` on the loop's thread, between two steps, and returns its result; Unavailable if
  // the loop has ended. From other threads.
  Status CallBetweenSteps(const std::function<Status()>& work) EXCLUDES(mu_);
  // The same with a sequence of these tokens, to import KV rows into: the same sequence in each
  // call, unless running requests needed its memory meanwhile. One at a time.
  Status CallToLoad(std::span<const int32_t> tokens,
                    const std::function<Status(engine::Sequence&)>& work) EXCLUDES(mu_);
  // Keeps the sequence like an answered conversation: prompts that begin like it find its KV rows.
  Status EndLoading() EXCLUDES(mu_);

  // Call it in CallBetweenSteps after a change of nodes: the new ones get the KV rows of the kept
  // conversations, from the nodes that have them, or compute them. Requests run meanwhile.
  void MoveConversations();

  AnswerLoopState state() const EXCLUDES(mu_);
  size_t max_running() const { return options_.max_running; }

 private:
  struct Active;
  struct Call {
    const std::function<Status()>& work;
    std::optional<Status> result = std::nullopt;
  };

  void MakeCalls() EXCLUDES(mu_);
  void EndCalls() EXCLUDES(mu_);
  std::unique_ptr<Job> TakeNext() EXCLUDES(mu_);
  bool AwaitWork() EXCLUDES(mu_);
  void Begin(std::unique_ptr<Job> job);
  void BeginWaiting();
  void CancelLate();
  void DropGone();
  void Step();
  void FailAfterStep(const Error& error);
  void FailAll(const Error& error);
  void OnFinish(Active& active, const engine::Finish& finish);
  engine::Sequence SequenceFor(std::span<const int32_t> prompt, bool is_branch, bool is_kept);
  void Keep(engine::Sequence sequence);

  engine::Generator& generator_;
  const Clock& clock_;
  const AnswerLoopOptions options_;

  // Used by the loop's thread.
  std::vector<std::unique_ptr<Active>> active_;
  std::deque<engine::Sequence> kept_;  // of answered conversations, the latest last
  // Of the requests at a failure, without their jobs: the generator may still use the sequences,
  // but calls nothing back.
  std::vector<std::unique_ptr<Active>> lost_;
  std::deque<engine::Sequence> lost_moved_;
  std::optional<engine::Sequence> loading_;
  int64_t last_dropped_ns_ = 0;

  mutable Mutex mu_;
  CondVar changed_;
  WaitingJobs waiting_ GUARDED_BY(mu_);
  size_t running_count_ GUARDED_BY(mu_) = 0;
  std::deque<Call*> calls_ GUARDED_BY(mu_);  // calls to make; their threads wait
  CondVar called_;
  bool has_ended_ GUARDED_BY(mu_) = false;
  std::optional<int64_t> stop_ns_ GUARDED_BY(mu_);
  bool has_failed_ GUARDED_BY(mu_) = false;
};

}  // namespace aster::serve
