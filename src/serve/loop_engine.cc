// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/loop_engine.h"

#include <memory>
#include <utility>
#include <vector>

namespace aster::serve {

void LoopEngine::Begin(ensemble::Work work) {
  auto job = std::make_unique<Job>();
  job->client = std::move(work.client);
  job->prompt = std::move(work.prompt);
  job->request = std::move(work.request);
  // A rating is usually not a conversation that continues.
  job->is_kept = !work.is_rating;
  job->is_branch = work.is_branch;
  job->is_gone = std::move(work.is_gone);
  job->on_refused = work.on_refused;
  if (work.is_followup) return loop_.Follow(std::move(job));
  std::vector<std::unique_ptr<Job>> jobs;
  jobs.push_back(std::move(job));
  const Status submitted = loop_.Submit(std::move(jobs));
  if (!submitted.ok()) work.on_refused(submitted.error());
}

}  // namespace aster::serve
