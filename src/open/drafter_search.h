// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Searches a cluster for drafters from time to time, on a thread of its own: machines that draft
// may come later than a server starts, or come back. Must not know how a cluster is asked.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "drafting/remote_proposers.h"

namespace aster::open {

class DrafterSearch {
 public:
  struct Found {
    std::vector<drafting::RemoteDrafter> drafters;
    size_t nodes = 0;  // that were asked
  };
  using Look = std::function<Result<Found>()>;

  // The clock outlives it.
  DrafterSearch(Look look, Clock& clock);
  ~DrafterSearch();
  DrafterSearch(const DrafterSearch&) = delete;
  DrafterSearch& operator=(const DrafterSearch&) = delete;

  // The drafters found since the last call. From any thread.
  std::vector<drafting::RemoteDrafter> Take() EXCLUDES(mu_);

 private:
  void Run() EXCLUDES(mu_);
  bool Sleep(int64_t duration_ns) EXCLUDES(mu_);

  const Look look_;
  Clock& clock_;
  Mutex mu_;
  CondVar changed_;
  std::vector<drafting::RemoteDrafter> found_ GUARDED_BY(mu_);
  bool is_ending_ GUARDED_BY(mu_) = false;
  std::thread thread_;  // uses all members above
};

}  // namespace aster::open
