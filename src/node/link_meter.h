// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Measures the ways to other nodes: soon after they come, and seldom again, one at a time; round
// trips to all of them, and rates from a few, so that it is no burden however many nodes there are.
// Must not know what the figures are for.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "cluster/identity.h"
#include "cluster/member.h"
#include "rpc/control_client.h"

namespace aster::node {

struct LinkMeterOptions {
  uint64_t bytes = uint64_t{4} << 20;  // fetched from each of the sampled
  size_t sampled = 8;                  // nodes
  int64_t again_ns = 1800 * kNsPerSecond;
  int64_t retry_ns = 30 * kNsPerSecond;  // of nodes that could not be measured
};

// Of the nodes that are alive those of which rates are measured by the first one: the next `count`
// behind it in the order of ids, so that each is asked by `count` others.
std::set<cluster::NodeId> SampledPeers(const std::vector<cluster::Member>& members, size_t count);

// Start and Stop belong to one thread; Of is safe for concurrent use.
class LinkMeter {
 public:
  using Members = std::function<std::vector<cluster::Member>()>;

  // The clock outlives it. `members` is called by its thread; the first is this node.
  LinkMeter(cluster::Identity identity, Members members, Clock& clock,
            LinkMeterOptions options = {});
  ~LinkMeter();
  LinkMeter(const LinkMeter&) = delete;
  LinkMeter& operator=(const LinkMeter&) = delete;

  Status Start();
  void Stop();

  // Zeros where nothing is known.
  rpc::LinkMeasurement Of(const cluster::NodeId& node) const EXCLUDES(mu_);

 private:
  struct Entry {
    rpc::LinkMeasurement last;
    int64_t due_ns = 0;
  };

  void Main();
  void MeasureDue() EXCLUDES(mu_);

  const cluster::Identity identity_;
  const Members members_;
  Clock& clock_;
  const LinkMeterOptions options_;

  mutable Mutex mu_;
  CondVar stop_asked_;
  bool stopping_ GUARDED_BY(mu_) = false;
  std::map<cluster::NodeId, Entry> links_ GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace aster::node
