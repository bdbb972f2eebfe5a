// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Measures the paths to other nodes, one for each of their addresses: soon after they come or their
// addresses change, and seldom again, one at a time; round trips to all of them, and rates from a
// few, so that it is no burden however many nodes there are. Must not know what the figures are
// for.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "cluster/identity.h"
#include "cluster/member.h"
#include "net/path_rates.h"
#include "rpc/control_client.h"

namespace aster::node {

struct LinkMeterOptions {
  uint64_t bytes = uint64_t{4} << 20;  // fetched from each of the sampled
  size_t sampled = 8;                  // nodes
  int64_t again_ns = 1800 * kNsPerSecond;
  int64_t retry_ns = 30 * kNsPerSecond;    // of nodes that could not be measured
  int64_t measure_ns = 20 * kNsPerSecond;  // most, for a path
};

// Of the nodes that are alive those of which rates are measured by the first one: the next `count`
// behind it in the order of ids, so that each is asked by `count` others.
std::set<cluster::NodeId> SampledPeers(const std::vector<cluster::Member>& members, size_t count);

// Start and Stop belong to one thread; Of is safe for concurrent use.
class LinkMeter {
 public:
  using Members = std::function<std::vector<cluster::Member>()>;

  // The clock outlives it. `members` is called by its thread; the first is this node. Rates of
  // paths are put into `rates`, too.
  LinkMeter(cluster::Identity identity, Members members, std::shared_ptr<net::PathRates> rates,
            Clock& clock, LinkMeterOptions options = {});
  ~LinkMeter();
  LinkMeter(const LinkMeter&) = delete;
  LinkMeter& operator=(const LinkMeter&) = delete;

  Status Start();
  void Stop();

  // Of the path that costs the least; zeros where nothing is known.
  rpc::LinkMeasurement Of(const cluster::NodeId& node) const EXCLUDES(mu_);

 private:
  struct Entry {
    rpc::LinkMeasurement last;
    std::vector<std::string> addresses;  // that were measured
    int64_t due_ns = 0;
  };

  void Main();
  void MeasureDue() EXCLUDES(mu_);
  bool IsStopping() const EXCLUDES(mu_);
  bool IsDue(const cluster::Member& member) EXCLUDES(mu_);
  Result<rpc::LinkMeasurement> MeasurePaths(const cluster::Member& member, uint64_t bytes) const;
  Result<rpc::LinkMeasurement> MeasurePath(const cluster::Member& member,
                                           const std::string& address, uint64_t bytes) const;

  const cluster::Identity identity_;
  const Members members_;
  const std::shared_ptr<net::PathRates> rates_;
  Clock& clock_;
  const LinkMeterOptions options_;

  mutable Mutex mu_;
  CondVar stop_asked_;
  bool stopping_ GUARDED_BY(mu_) = false;
  std::map<cluster::NodeId, Entry> links_ GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace aster::node
