// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Looks now and then which drafters a cluster has, on a thread of its own: machines that draft come
// later than a server begins, or come back. Must not know how a cluster is asked.
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

  // Those that were found since it was asked last. From any thread.
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
  std::thread thread_;  // uses all of the above
};

}  // namespace aster::open
