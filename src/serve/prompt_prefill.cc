// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/prompt_prefill.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace aster::serve {
namespace {

int64_t DeadlineOf(const AnswerContext& context, const PrefillRequest& request) {
  int64_t deadline_ns = kNeverNs;
  for (const int64_t most_ns : {context.deadline_ns, request.timeout_ns}) {
    if (most_ns > 0) deadline_ns = std::min(deadline_ns, context.clock->NowNs() + most_ns);
  }
  return deadline_ns;
}

}  // namespace

Problem TooManyTokens(const std::string& field, size_t count, uint32_t most) {
  Problem problem = ProblemOf(
      OutOfRange(fmt::format("{}: the text has {} tokens, and {} fit; shorten it, or start the "
                             "server with a larger --ctx",
                             field, count, most)),
      field);
  problem.prompt_tokens = count;
  problem.most_tokens = most;
  return problem;
}

PromptPrefill::PromptPrefill(const AnswerContext& context, PrefillRequest request,
                             std::shared_ptr<ReplyStream> stream)
    : context_(context),
      request_(std::move(request)),
      stream_(std::move(stream)),
      deadline_ns_(DeadlineOf(context, request_)) {
  CHECK(!request_.prompts.empty());
}

void PromptPrefill::Start() {
  std::vector<std::unique_ptr<Job>> jobs;
  const size_t most = std::min(request_.prompts.size(), context_.loop->max_running());
  while (jobs.size() < most) jobs.push_back(NextJob());
  const Status submitted = context_.loop->Submit(std::move(jobs));
  if (!submitted.ok()) Fail(ProblemOf(submitted.error(), request_.field));
}

std::unique_ptr<Job> PromptPrefill::NextJob() {
  const auto self = shared_from_this();
  const size_t prompt = begun_++;
  auto job = std::make_unique<Job>();
  job->client = request_.client;
  job->prompt = request_.prompts[prompt];
  job->deadline_ns = deadline_ns_;
  job->is_kept = false;
  job->request.max_tokens = 0;
  job->request.context_limit = context_.context_limit;
  job->request.rows = {.kind = request_.rows, .on_row = [self, prompt](std::span<const float> row) {
                         if (!self->has_failed_) self->request_.on_row(prompt, row);
                       }};
  job->request.on_finish = [self](const engine::Finish& finish) { self->OnFinish(finish); };
  job->is_gone = [self] { return self->has_failed_ || self->stream_->is_gone(); };
  job->on_refused = [self](const Error& error) {
    self->Fail(ProblemOf(error, self->request_.field));
  };
  return job;
}

void PromptPrefill::OnFinish(const engine::Finish& finish) {
  if (has_failed_) return;
  if (finish.reason == engine::FinishReason::kCancelled) {
    const bool is_late = context_.clock->NowNs() >= deadline_ns_;
    return Fail(is_late ? Problem{.status = 504, .message = "the answer took too long"}
                        : Problem{.status = 503, .message = "the server is shutting down"});
  }
  if (!finish.status.ok()) {
    context_.metrics->Add({.failed = 1});
    return Fail(ProblemOf(finish.status.error(), request_.field));
  }
  context_.metrics->Add(
      {.prompt_tokens = finish.counts.prompt, .cached_tokens = finish.counts.cached, .answers = 1});
  context_.metrics->AddPromptRate(finish.counts.prompt - finish.counts.cached,
                                  finish.times.prefill_ns);
  if (++done_ == request_.prompts.size()) return request_.on_done();
  if (begun_ < request_.prompts.size()) context_.loop->Follow(NextJob());
}

void PromptPrefill::Fail(const Problem& problem) {
  if (std::exchange(has_failed_, true)) return;
  request_.on_failed(problem);
}

}  // namespace aster::serve
