// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/ensemble_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace aster::serve {
namespace {

// How often clients that are gone and deadlines are checked, and an idle loop wakes up.
constexpr int64_t kLookNs = 20 * kNsPerMs;
constexpr int64_t kIdleNs = 60 * kNsPerSecond;

}  // namespace

Status EnsembleLoop::Submit(std::vector<EnsembleJob> jobs) {
  const MutexLock lock(mu_);
  if (stop_ns_) return Error(Code::kUnavailable, "the server is shutting down");
  if (jobs.size() > most_) {
    return InvalidArgument(fmt::format(
        "{} answers are asked for at once; this server takes {} at most", jobs.size(), most_));
  }
  if (count_ + jobs.size() > most_)
    return ResourceExhausted(
        fmt::format("{} requests are waiting already; try again later", count_));
  count_ += jobs.size();
  for (EnsembleJob& job : jobs) {
    const auto active = std::make_shared<Active>(Active{.job = std::move(job)});
    ensemble_.mailbox().Post([this, active] { Begin(active); });
  }
  return Ok();
}

void EnsembleLoop::Begin(const std::shared_ptr<Active>& active) {
  active_.push_back(active);
  const auto on_answer = [this, active](Result<ensemble::Answer> answer) {
    active->is_answered = true;
    active->job.on_answer(std::move(answer));
    active->job.question = nullptr;
    const MutexLock lock(mu_);
    --count_;
  };
  ensemble_.Ask(active->job.question, on_answer, active->job.on_piece);
}

void EnsembleLoop::Stop(int64_t grace_ns) {
  {
    const MutexLock lock(mu_);
    const int64_t stop_ns = clock_.NowNs() + grace_ns;
    stop_ns_ = std::min(stop_ns, stop_ns_.value_or(stop_ns));
  }
  ensemble_.mailbox().Post([] {});
}

AnswerLoopState EnsembleLoop::state() const {
  const MutexLock lock(mu_);
  return {.running = count_, .is_ending = stop_ns_.has_value()};
}

bool EnsembleLoop::GoesOn() const {
  const MutexLock lock(mu_);
  return !stop_ns_ || (count_ > 0 && clock_.NowNs() < *stop_ns_);
}

// Cancels questions whose clients are gone, or that have taken too long.
void EnsembleLoop::CancelLeft() {
  const int64_t now_ns = clock_.NowNs();
  for (const auto& active : active_) {
    if (active->job.is_gone() || now_ns >= active->job.deadline_ns)
      ensemble::Ensemble::Cancel(*active->job.question);
  }
}

void EnsembleLoop::Run() {
  while (GoesOn()) {
    ensemble_.mailbox().Await(clock_, clock_.NowNs() + (active_.empty() ? kIdleNs : kLookNs));
    CancelLeft();
    ensemble_.Step();
    std::erase_if(active_, [](const auto& active) { return active->is_answered; });
  }
  // Questions that have not begun must begin, so that their end is reported.
  ensemble_.Step();
  ensemble_.CancelAll();
  ensemble_.Step();
  active_.clear();
}

}  // namespace aster::serve
