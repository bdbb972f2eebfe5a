// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Measures the paths to other nodes, one per address, one at a time: twice soon after a node comes
// or its addresses change, and seldom afterwards. It measures round trips to all nodes and rates to
// a few, so that the load is small in a large cluster. The better of a path's last two measurements
// counts, as the ends or the network may be busy during one of them. A path that carries
// activations is probed (measured with few bytes) every few seconds, to notice when it
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
  uint64_t bytes = uint64_t{4} << 20;  // fetched from each sampled node
  size_t sampled = 8;                  // nodes whose rate is measured
  // Until the second measurement; doubled each time that a path's last two differ.
  int64_t confirm_ns = 60 * kNsPerSecond;
  int64_t again_ns = 1800 * kNsPerSecond;
  int64_t retry_ns = 30 * kNsPerSecond;  // of nodes that could not be measured
  int64_t probe_ns = 4 * kNsPerSecond;   // between probes of a used path, or longer, …
  double probe_share = 20;               // … so that they take at most 1 / probe_share of the time
  uint64_t probe_bytes = uint64_t{256} << 10;
  uint64_t used_bytes = uint64_t{1} << 20;  // bytes since the last probe that make a path used
  int64_t measure_ns = 20 * kNsPerSecond;   // longest measurement of a path
};

// The living nodes whose rates the first member measures: the next `count` after it in the order of
// ids, so that each node is measured by `count` others.
std::set<cluster::NodeId> SampledPeers(const std::vector<cluster::Member>& members, size_t count);

// Start and Stop belong to one thread; Of is safe for concurrent use.
class LinkMeter {
 public:
  using Members = std::function<std::vector<cluster::Member>()>;
  // Bytes received from a node over the data plane.
  using Received = std::function<uint64_t(const cluster::NodeId&)>;

  // The clock outlives it. Its thread calls the functions; the first member is this node. Rates of
  // paths are put into `rates`, too.
  LinkMeter(cluster::Identity identity, Members members, Received received,
            std::shared_ptr<net::PathRates> rates, Clock& clock, LinkMeterOptions options = {});
  ~LinkMeter();
  LinkMeter(const LinkMeter&) = delete;
  LinkMeter& operator=(const LinkMeter&) = delete;

  Status Start();
  void Stop();

  // The measurement of the fastest path; zeros if there is none.
  rpc::LinkMeasurement Of(const cluster::NodeId& node) const EXCLUDES(mu_);
  // The node says that the direction to it has become slow: probes the direction from it, used
  // or not. Safe for concurrent use.
  void Doubt(const cluster::NodeId& node) EXCLUDES(mu_);

 private:
  using Paths = std::map<std::string, rpc::LinkMeasurement>;  // by address
  struct Entry {
    rpc::LinkMeasurement best;
    std::string best_address;
    double fastest_bytes_per_s = 0;      // of all measurements
    Paths last;                          // the last measurements
    std::vector<std::string> addresses;  // measured addresses
    int64_t due_ns = 0;
    int64_t pause_ns = 0;  // before that measurement
    uint64_t received = 0;
    int64_t probe_ns = 0;  // no probe before this time
    bool is_doubted = false;
    int64_t report_until_ns = 0;  // until then the other end is told that the link has become slow
  };

  void Main();
  void MeasureDue() EXCLUDES(mu_);
  // Drops what was measured of nodes that the cluster has forgotten.
  void Forget(const std::vector<cluster::Member>& but) EXCLUDES(mu_);
  bool IsStopping() const EXCLUDES(mu_);
  bool IsDue(const cluster::Member& member) EXCLUDES(mu_);
  Result<Paths> MeasurePaths(const cluster::Member& member, uint64_t bytes) EXCLUDES(mu_);
  void MeasureFully(const cluster::Member& member, uint64_t bytes) EXCLUDES(mu_);
  // Measures a used link with few bytes. Returns whether it has no rate and must be measured now.
  bool Probe(const cluster::Member& member) EXCLUDES(mu_);
  // The time between two probes at a path of this rate.
  int64_t ProbePauseNs(double bytes_per_s) const;
  // Lowers the path's rate until the next measurement.
  void SetRate(const std::string& address, double bytes_per_s);
  void Slow(const cluster::NodeId& node, double bytes_per_s) EXCLUDES(mu_);
  void AdjustSlow(const cluster::NodeId& node, double bytes_per_s) EXCLUDES(mu_);
  void ReportIfSlow(const cluster::Member& member) EXCLUDES(mu_);
  void Take(const cluster::Member& member, const Paths& paths) REQUIRES(mu_);
  Result<rpc::LinkMeasurement> MeasurePath(const cluster::Member& member,
                                           const std::string& address, uint64_t bytes,
                                           int64_t patience_ns) EXCLUDES(mu_);
  // Calls to one node, which Stop cancels.
  class Calls;

  const cluster::Identity identity_;
  const Members members_;
  const Received received_;
  const std::shared_ptr<net::PathRates> rates_;
  Clock& clock_;
  const LinkMeterOptions options_;

  mutable Mutex mu_;
  CondVar stop_asked_;
  bool stopping_ GUARDED_BY(mu_) = false;
  rpc::ControlClient* in_use_ GUARDED_BY(mu_) = nullptr;
  std::map<cluster::NodeId, Entry> links_ GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace aster::node
