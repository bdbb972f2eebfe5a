// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The cluster for the server's page: asked on a thread of its own, and only while the page is open.
// Must not know HTTP, nor how a cluster is asked.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "cli/cluster/cluster_status.h"

namespace aster::cli {

// Safe for concurrent use.
class ClusterWatch {
 public:
  // Only the watch's thread calls the sampler.
  explicit ClusterWatch(ClusterSampler look);
  ~ClusterWatch();
  ClusterWatch(const ClusterWatch&) = delete;
  ClusterWatch& operator=(const ClusterWatch&) = delete;

  // Returns the latest sample at once, in the form of `aster cluster status --json`, and has the
  // cluster asked again. No nodes and an "error" if asking failed; no nodes at first.
  std::string Json() EXCLUDES(mu_);

 private:
  void Run() EXCLUDES(mu_);

  const ClusterSampler look_;

  Mutex mu_;
  CondVar changed_;
  bool is_wanted_ GUARDED_BY(mu_) = false;
  bool is_ending_ GUARDED_BY(mu_) = false;
  std::string json_ GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace aster::cli
