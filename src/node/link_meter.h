// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Measures the paths to other nodes, one for each of their addresses, one at a time: twice soon
// after a node comes or its addresses change, and seldom afterwards. It measures round trips to all
// nodes and rates from a few, so that the load is small however many nodes there are. The better of
// a path's last two measurements counts, as ends or network may be busy during one of them. A path
// over which nodes compute is looked at every few seconds, with few bytes, to notice when it
// becomes slow; its other end then looks at the other direction. Must not know what the figures are
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
  // Until the second measurement; twice as long each time that a path's last two differ.
  int64_t confirm_ns = 60 * kNsPerSecond;
  int64_t again_ns = 1800 * kNsPerSecond;
  int64_t retry_ns = 30 * kNsPerSecond;  // of nodes that could not be measured
  int64_t glance_ns = 4 * kNsPerSecond;  // between looks at a path that is used, or longer, …
  double glance_share = 20;              // … so that they take no more than one part in so many
  uint64_t glance_bytes = uint64_t{256} << 10;
  uint64_t used_bytes = uint64_t{1} << 20;  // that came over it since
  int64_t measure_ns = 20 * kNsPerSecond;   // most, for a path
};

// The living nodes whose rates the first one measures: the next `count` behind it in the order of
// ids, so that each node is measured by `count` others.
std::set<cluster::NodeId> SampledPeers(const std::vector<cluster::Member>& members, size_t count);

// Start and Stop belong to one thread; Of is safe for concurrent use.
class LinkMeter {
 public:
  using Members = std::function<std::vector<cluster::Member>()>;
  // Bytes that have come from a node, for what is computed.
  using Received = std::function<uint64_t(const cluster::NodeId&)>;

  // The clock outlives it. The functions are called by its thread; the first member is this node.
  // Rates of paths are put into `rates`, too.
  LinkMeter(cluster::Identity identity, Members members, Received received,
            std::shared_ptr<net::PathRates> rates, Clock& clock, LinkMeterOptions options = {});
  ~LinkMeter();
  LinkMeter(const LinkMeter&) = delete;
  LinkMeter& operator=(const LinkMeter&) = delete;

  Status Start();
  void Stop();

  // The measurement of the fastest path; zeros if nothing is known.
  rpc::LinkMeasurement Of(const cluster::NodeId& node) const EXCLUDES(mu_);
  // That node says that the direction to it has become slow: the direction from it is looked at,
  // used or not. Safe for concurrent use.
  void Doubt(const cluster::NodeId& node) EXCLUDES(mu_);

 private:
  using Paths = std::map<std::string, rpc::LinkMeasurement>;  // by address
  struct Entry {
    rpc::LinkMeasurement best;
    std::string best_address;
    double fastest_bytes_per_s = 0;      // the best rate of all measurements
    Paths last;                          // as they were measured last
    std::vector<std::string> addresses;  // that were measured
    int64_t due_ns = 0;
    int64_t pause_ns = 0;  // before that measurement
    uint64_t received = 0;
    int64_t glance_ns = 0;  // no look before this time
    bool is_doubted = false;
    int64_t tell_until_ns = 0;  // the other end, that the link has become slow
  };

  void Main();
  void MeasureDue() EXCLUDES(mu_);
  bool IsStopping() const EXCLUDES(mu_);
  bool IsDue(const cluster::Member& member) EXCLUDES(mu_);
  Result<Paths> MeasurePaths(const cluster::Member& member, uint64_t bytes) const;
  void MeasureFully(const cluster::Member& member, uint64_t bytes) EXCLUDES(mu_);
  // Looks at a link that is used. Returns whether it has no rate and is to be measured now.
  bool Glance(const cluster::Member& member) EXCLUDES(mu_);
  // The time between two looks at a path of this rate.
  int64_t GlancePauseNs(double bytes_per_s) const;
  // Lowers the path's rate; it is measured again later.
  void SetRate(const std::string& address, double bytes_per_s);
  void Slow(const cluster::NodeId& node, double bytes_per_s) EXCLUDES(mu_);
  void AdjustSlow(const cluster::NodeId& node, double bytes_per_s) EXCLUDES(mu_);
  void TellIfSlow(const cluster::Member& member) EXCLUDES(mu_);
  void Take(const cluster::Member& member, const Paths& paths) REQUIRES(mu_);
  Result<rpc::LinkMeasurement> MeasurePath(const cluster::Member& member,
                                           const std::string& address, uint64_t bytes,
                                           int64_t patience_ns) const;

  const cluster::Identity identity_;
  const Members members_;
  const Received received_;
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
