// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Keeps weights of layers that only one other node has, so that this machine can replace that node
// without fetching them. Must not know how they are fetched.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "cluster/description.h"
#include "model/parts/slice.h"

namespace aster::node {

// Another node, as it describes itself.
struct StandbyPeer {
  cluster::Description description;
  cluster::NodeStatus status;
};

// A slice of a model whose weights only `from` has.
struct StandbySlice {
  Hash128 fingerprint;
  model::Slice slice;
  cluster::NodeId from;

  bool operator==(const StandbySlice&) const = default;
};

// Layers that are computed now and whose weights only one other node has, and this one neither in a
// file nor for its own slices.
std::vector<StandbySlice> SlicesToKeep(const StandbyPeer& self,
                                       std::span<const StandbyPeer> others);

struct StandbyOptions {
  int64_t look_ns = 10 * kNsPerSecond;
  int64_t first_look_ns = 2 * kNsPerSecond;  // once this node knows others
};

// Start and Stop belong to one thread.
class Standby {
 public:
  struct Seen {
    StandbyPeer self;
    std::vector<StandbyPeer> others;
  };
  using Look = std::function<Seen()>;
  // Fetches missing weights. ResourceExhausted if there is no room for them.
  using Keep = std::function<Status(const StandbySlice& slice, const std::stop_token& stop)>;

  // The clock outlives it; its thread calls the functions.
  Standby(Look look, Keep keep, Clock& clock, const StandbyOptions& options = {});
  ~Standby();
  Standby(const Standby&) = delete;
  Standby& operator=(const Standby&) = delete;

  Status Start();
  void Stop();

  // One round of the thread; tests call it without Start.
  void KeepAll();

 private:
  void Main() EXCLUDES(mu_);

  const Look look_;
  const Keep keep_;
  Clock& clock_;
  const StandbyOptions options_;
  // Used by its thread: slices that are kept, or that there was no room for.
  std::vector<StandbySlice> done_;

  std::stop_source stop_;
  Mutex mu_;
  CondVar stop_asked_;
  std::thread thread_;
};

}  // namespace aster::node
