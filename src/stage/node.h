// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A node's thread that computes: a StageServer on a network. Must not know where slices come from,
// nor how nodes find each other.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "net/network.h"
#include "stage/slice_source.h"
#include "stage/stage_server.h"

namespace aster::stage {

// Start and Stop belong to one thread; the const methods are safe for concurrent use.
class Node {
 public:
  // Both outlive it. No other thread receives from the network.
  Node(net::Network& network, SliceSource& source, StageOptions options = {});
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void Start();
  // Returns when the frame that is being computed is done.
  void Stop();

  // The status of the routes, as it was a moment ago.
  std::vector<StageRouteStatus> Snapshot() const EXCLUDES(mu_);
  // Likewise StageServer::Rates and has_lost_gpu.
  std::vector<WorkRate> Rates() const EXCLUDES(mu_);
  bool has_lost_gpu() const { return has_lost_gpu_; }

 private:
  void Main();

  net::Network& network_;
  SliceSource& source_;
  const StageOptions options_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> has_lost_gpu_ = false;
  std::thread thread_;

  mutable Mutex mu_;
  std::vector<StageRouteStatus> snapshot_ GUARDED_BY(mu_);
  std::vector<WorkRate> rates_ GUARDED_BY(mu_);
};

}  // namespace aster::stage
