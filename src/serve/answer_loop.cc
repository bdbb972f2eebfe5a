// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/answer_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace aster::serve {
namespace {

// How many answered conversations keep all of their KV rows, and the most tokens of all of them,
// until running ones need the memory. (Full pages of other conversations are found again until they
// are evicted.)
constexpr size_t kKeptSequences = 4;
constexpr size_t kKeptTokens = 8192;
constexpr size_t kFewRunning = 4;
constexpr size_t kShortPrompt = 2048;  // tokens
// How often waiting clients are checked for being gone.
constexpr int64_t kDropGoneNs = kNsPerSecond;

size_t SharedTokens(std::span<const int32_t> a, std::span<const int32_t> b) {
  const size_t size = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(size), b.begin()).first -
      a.begin());
}

Error TooLate() { return Error(Code::kDeadlineExceeded, "the answer took too long"); }

Error ShuttingDown() { return Error(Code::kUnavailable, "the server is shutting down"); }

Error CannotAnswer() { return Error(Code::kUnavailable, "the model cannot answer any more"); }

}  // namespace

struct AnswerLoop::Active {
  std::unique_ptr<Job> job;
  engine::Sequence sequence;
  engine::RequestId id = 0;
  bool is_over = false;
};

AnswerLoop::AnswerLoop(engine::Generator& generator, const Clock& clock, AnswerLoopOptions options)
    : generator_(generator), clock_(clock), options_(std::move(options)) {
  generator_.OnShortage([this] {
    if (!kept_.empty()) {
      kept_.pop_front();
      return true;
    }
    const bool was_loading = loading_.has_value();
    loading_.reset();
    return was_loading;
  });
}

AnswerLoop::~AnswerLoop() { generator_.OnShortage(nullptr); }

Status AnswerLoop::CheckCount(size_t jobs) const {
  const size_t most = options_.max_queued + options_.max_running;
  if (jobs <= most) return Ok();
  return InvalidArgument(
      fmt::format("{} answers are asked for at once; this server takes {} at most", jobs, most));
}

Status AnswerLoop::Submit(std::vector<std::unique_ptr<Job>> jobs) {
  {
    const MutexLock lock(mu_);
    if (stop_ns_) return ShuttingDown();
    if (has_failed_) return CannotAnswer();
    TRY(CheckCount(jobs.size()));
    // A request that can begin at once does not count as waiting. Without further places for keys
    // of which none waits, one key could keep all others out.
    const bool others_wait =
        waiting_.size() > 0 && !jobs.empty() && !waiting_.HasOfSameKey(jobs.front()->client);
    const size_t further = others_wait ? (options_.max_queued + 3) / 4 : 0;
    if (running_count_ + waiting_.size() + jobs.size() >
        options_.max_queued + options_.max_running + further) {
      return ResourceExhausted(
          fmt::format("{} requests are waiting already; try again later", waiting_.size()));
    }
    for (auto& job : jobs) waiting_.Add(std::move(job));
  }
  changed_.NotifyAll();
  return Ok();
}

void AnswerLoop::Follow(std::unique_ptr<Job> job) {
  std::optional<Error> refusal;
  {
    const MutexLock lock(mu_);
    if (has_failed_) {
      refusal = stop_ns_ ? ShuttingDown() : CannotAnswer();
    } else {
      waiting_.Add(std::move(job));
    }
  }
  if (refusal) return job->on_refused(*refusal);
  changed_.NotifyAll();
}

void AnswerLoop::Stop(int64_t grace_ns) {
  {
    const MutexLock lock(mu_);
    const int64_t stop_ns = clock_.NowNs() + grace_ns;
    stop_ns_ = std::min(stop_ns, stop_ns_.value_or(stop_ns));
  }
  changed_.NotifyAll();
}

Status AnswerLoop::CallBetweenSteps(const std::function<Status()>& work) {
  Call call{.work = work};
  const MutexLock lock(mu_);
  if (has_ended_) return ShuttingDown();
  calls_.push_back(&call);
  changed_.NotifyAll();
  while (!call.result) called_.Wait(mu_);
  return *call.result;
}

Status AnswerLoop::CallToLoad(std::span<const int32_t> tokens,
                              const std::function<Status(engine::Sequence&)>& work) {
  return CallBetweenSteps([&] {
    if (!loading_ || !std::ranges::equal(loading_->tokens(), tokens)) {
      loading_ = SequenceFor(tokens, /*is_branch=*/false, /*is_kept=*/true);
      loading_->SetHistory(tokens);
    }
    return work(*loading_);
  });
}

Status AnswerLoop::EndLoading() {
  return CallBetweenSteps([this] {
    if (loading_ && loading_->computed() > 0) Keep(*std::move(loading_));
    loading_.reset();
    return Ok();
  });
}

void AnswerLoop::MoveConversations() {
  if (state().has_failed) return;
  // Sequences must not be released while one of them is computed.
  std::deque<engine::Sequence> moved = std::exchange(kept_, {});
  for (engine::Sequence& sequence : moved) {
    bool is_over = false;
    // A request for no tokens ends when the nodes have all KV rows of its text.
    const auto id = generator_.Submit(
        {.sequence = &sequence, .max_tokens = 0, .on_finish = [&](const engine::Finish&) {
           is_over = true;
         }});
    while (id.ok() && !is_over) {
      const Status stepped = generator_.Step();
      if (stepped.ok()) continue;
      // The generator may still use the sequences.
      lost_moved_ = std::move(moved);
      return FailAfterStep(stepped.error());
    }
  }
  // Conversations that were answered meanwhile are newer.
  std::swap(moved, kept_);
  for (engine::Sequence& sequence : moved) Keep(std::move(sequence));
}

void AnswerLoop::MakeCalls() {
  for (;;) {
    Call* call = nullptr;
    {
      const MutexLock lock(mu_);
      if (calls_.empty()) return;
      call = calls_.front();
      calls_.pop_front();
    }
    Status result = call->work();
    if (options_.on_step) options_.on_step();
    const MutexLock lock(mu_);
    call->result = std::move(result);
    called_.NotifyAll();
  }
}

void AnswerLoop::EndCalls() {
  const MutexLock lock(mu_);
  has_ended_ = true;
  for (Call* call : calls_) call->result = ShuttingDown();
  calls_.clear();
  called_.NotifyAll();
}

AnswerLoopState AnswerLoop::state() const {
  const MutexLock lock(mu_);
  return {.queued = waiting_.size(),
          .running = running_count_,
          .has_failed = has_failed_,
          .is_ending = stop_ns_.has_value()};
}

std::unique_ptr<Job> AnswerLoop::TakeNext() {
  const MutexLock lock(mu_);
  std::unique_ptr<Job> job = waiting_.TakeNext();
  if (job != nullptr) ++running_count_;
  return job;
}

engine::Sequence AnswerLoop::SequenceFor(std::span<const int32_t> prompt, bool is_branch,
                                         bool is_kept) {
  auto best = kept_.end();
  size_t most = 0;
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    const size_t shared = SharedTokens(it->tokens(), prompt);
    // The prompt must continue the conversation, not only begin like it.
    if (shared > most && shared * 4 >= it->tokens().size() * 3) {
      most = shared;
      best = it;
    }
  }
  if (best == kept_.end()) {
    // With much load, memory is worth more than the last few tokens of conversations: full pages
    // are found again anyway.
    const bool is_much = active_.size() >= kFewRunning || prompt.size() > kShortPrompt;
    if (is_much) kept_.clear();
    return generator_.NewSequence();
  }
  // If the prompt continues all of it and is kept itself, it may replace the conversation.
  if (is_branch && (most < best->tokens().size() || !is_kept)) return best->Fork();
  engine::Sequence sequence = std::move(*best);
  kept_.erase(best);
  return sequence;
}

void AnswerLoop::Keep(engine::Sequence sequence) {
  if (sequence.length() > kKeptTokens) return;
  kept_.push_back(std::move(sequence));
  size_t tokens = 0;
  for (const engine::Sequence& kept : kept_) tokens += kept.length();
  while (kept_.size() > kKeptSequences || tokens > kKeptTokens) {
    tokens -= kept_.front().length();
    kept_.pop_front();
  }
}

void AnswerLoop::Begin(std::unique_ptr<Job> job) {
  if (job->is_gone()) return;
  if (clock_.NowNs() >= job->deadline_ns) return job->on_refused(TooLate());
  engine::Sequence sequence = job->is_kept || job->is_branch
                                  ? SequenceFor(job->prompt, job->is_branch, job->is_kept)
                                  : generator_.NewSequence();
  auto active =
      std::make_unique<Active>(Active{.job = std::move(job), .sequence = std::move(sequence)});
  Active& begun = *active;
  begun.sequence.SetHistory(begun.job->prompt);
  engine::Request request = begun.job->request;
  request.sequence = &begun.sequence;
  request.on_finish = [this, &begun](const engine::Finish& finish) { OnFinish(begun, finish); };
  auto id = generator_.Submit(std::move(request));
  if (!id.ok()) {
    // A text that does not fit into the whole KV cache never will.
    const bool is_too_long = id.error().code() == Code::kResourceExhausted;
    begun.job->on_refused(is_too_long ? OutOfRange(id.error().message()) : id.error());
    return;
  }
  begun.id = *id;
  active_.push_back(std::move(active));
}

void AnswerLoop::OnFinish(Active& active, const engine::Finish& finish) {
  active.is_over = true;
  active.job->request.on_finish(finish);
}

void AnswerLoop::BeginWaiting() {
  while (active_.size() < options_.max_running) {
    std::unique_ptr<Job> job = TakeNext();
    if (job == nullptr) break;
    Begin(std::move(job));
  }
}

// Cancels requests whose clients are gone, or that have taken too long.
void AnswerLoop::CancelLate() {
  const int64_t now_ns = clock_.NowNs();
  std::vector<std::unique_ptr<Job>> late;
  {
    const MutexLock lock(mu_);
    late = waiting_.TakeIf([now_ns](const Job& job) { return now_ns >= job.deadline_ns; });
  }
  for (const auto& job : late) job->on_refused(TooLate());
  for (const auto& active : active_) {
    if (active->is_over) continue;
    if (active->job->is_gone() || now_ns >= active->job->deadline_ns) generator_.Cancel(active->id);
  }
}

void AnswerLoop::DropGone() {
  const int64_t now_ns = clock_.NowNs();
  if (now_ns - last_dropped_ns_ < kDropGoneNs) return;
  last_dropped_ns_ = now_ns;
  const MutexLock lock(mu_);
  waiting_.TakeIf([](const Job& job) { return job.is_gone(); });
}

// The generator is not stepped again.
void AnswerLoop::FailAfterStep(const Error& error) {
  log::Error("the model cannot answer any more", {{"error", error.message()}});
  FailAll(error);
}

void AnswerLoop::FailAll(const Error& error) {
  {
    const MutexLock lock(mu_);
    has_failed_ = true;
  }
  for (auto& active : active_) {
    if (!active->is_over) active->job->on_refused(error);
    active->job.reset();
    lost_.push_back(std::move(active));
  }
  active_.clear();
  while (const auto job = TakeNext()) job->on_refused(error);
  const MutexLock lock(mu_);
  running_count_ = 0;
}

// Waits for work; false: the loop ends.
bool AnswerLoop::AwaitWork() {
  const MutexLock lock(mu_);
  running_count_ = active_.size();
  if (!active_.empty()) return !stop_ns_ || clock_.NowNs() < *stop_ns_;
  while (waiting_.size() == 0 && calls_.empty() && !stop_ns_) changed_.Wait(mu_);
  if (stop_ns_) return waiting_.size() > 0 && clock_.NowNs() < *stop_ns_;
  return true;
}

void AnswerLoop::Step() {
  const Status stepped = [this] {
    const Turn turn(options_.turns);
    return generator_.Step();
  }();
  if (options_.on_step) options_.on_step();
  if (!stepped.ok()) FailAfterStep(stepped.error());
}

void AnswerLoop::Run() {
  while (AwaitWork()) {
    MakeCalls();
    BeginWaiting();
    CancelLate();
    if (!generator_.idle() && !state().has_failed) Step();
    for (auto& active : active_) {
      if (active->is_over && active->job->is_kept) Keep(std::move(active->sequence));
    }
    std::erase_if(active_, [](const auto& active) { return active->is_over; });
    DropGone();
  }
  for (const auto& active : active_) generator_.Cancel(active->id);
  if (!active_.empty()) static_cast<void>(generator_.Step());
  FailAll(Error(Code::kUnavailable, "the server has shut down"));
  EndCalls();
}

}  // namespace aster::serve
