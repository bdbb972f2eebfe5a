// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/drafter_search.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace aster::open {
namespace {

constexpr int64_t kPauseNs = 10 * kNsPerSecond;
// A search asks every node: the more nodes, the longer the pause.
constexpr int64_t kEachNodeNs = 100 * kNsPerMs;

}  // namespace

DrafterSearch::DrafterSearch(Look look, Clock& clock)
    : look_(std::move(look)), clock_(clock), thread_([this] { Run(); }) {}

DrafterSearch::~DrafterSearch() {
  {
    const MutexLock lock(mu_);
    is_ending_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

std::vector<drafting::RemoteDrafter> DrafterSearch::Take() {
  const MutexLock lock(mu_);
  return std::exchange(found_, {});
}

void DrafterSearch::Run() {
  int64_t pause_ns = kPauseNs;
  while (Sleep(pause_ns)) {
    Result<Found> looked = look_();
    if (!looked.ok()) {
      log::Debug("drafters of the cluster are not known", {{"why", looked.error().message()}});
      continue;
    }
    pause_ns = std::max(kPauseNs, kEachNodeNs * static_cast<int64_t>(looked->nodes));
    const MutexLock lock(mu_);
    found_ = std::move(looked->drafters);
  }
}

// False when the search ends.
bool DrafterSearch::Sleep(int64_t duration_ns) {
  const MutexLock lock(mu_);
  const int64_t deadline_ns = clock_.NowNs() + duration_ns;
  while (!is_ending_ && clock_.NowNs() < deadline_ns) clock_.WaitUntil(changed_, mu_, deadline_ns);
  return !is_ending_;
}

}  // namespace aster::open
