// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/link_meter.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "net/connect_time.h"
#include "net/nearest.h"

namespace aster::node {
namespace {

constexpr int64_t kMeterLookNs = 1 * kNsPerSecond;
constexpr int64_t kConnectNs = 2 * kNsPerSecond;

// Of a node. More are hardly paths of their own.
constexpr size_t kMaxPaths = 4;

}  // namespace

std::set<cluster::NodeId> SampledPeers(const std::vector<cluster::Member>& members, size_t count) {
  if (members.empty()) return {};
  std::vector<cluster::NodeId> living;
  for (size_t i = 1; i < members.size(); ++i) {
    if (members[i].state == cluster::MemberState::kAlive) living.push_back(members[i].node);
  }
  std::ranges::sort(living);
  const auto behind = std::ranges::upper_bound(living, members.front().node);
  std::ranges::rotate(living, behind);
  living.resize(std::min(living.size(), count));
  return {living.begin(), living.end()};
}

LinkMeter::LinkMeter(cluster::Identity identity, Members members,
                     std::shared_ptr<net::PathRates> rates, Clock& clock, LinkMeterOptions options)
    : identity_(std::move(identity)),
      members_(std::move(members)),
      rates_(std::move(rates)),
      clock_(clock),
      options_(options) {}

LinkMeter::~LinkMeter() { Stop(); }

Status LinkMeter::Start() {
  try {
    thread_ = std::thread([this] { Main(); });
  } catch (const std::system_error& error) {
    return ResourceExhausted(std::string("no thread to measure links: ") + error.what());
  }
  return Ok();
}

void LinkMeter::Stop() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    stop_asked_.NotifyAll();
  }
  thread_.join();
}

rpc::LinkMeasurement LinkMeter::Of(const cluster::NodeId& node) const {
  const MutexLock lock(mu_);
  const auto found = links_.find(node);
  return found == links_.end() ? rpc::LinkMeasurement{} : found->second.last;
}

void LinkMeter::Main() {
  while (true) {
    MeasureDue();
    const MutexLock lock(mu_);
    const int64_t until_ns = clock_.NowNs() + kMeterLookNs;
    while (!stopping_ && clock_.NowNs() < until_ns) clock_.WaitUntil(stop_asked_, mu_, until_ns);
    if (stopping_) return;
  }
}

void LinkMeter::MeasureDue() {
  const std::vector<cluster::Member> members = members_();
  const std::set<cluster::NodeId> sampled = SampledPeers(members, options_.sampled);
  for (size_t i = 1; i < members.size(); ++i) {
    const cluster::Member& member = members[i];
    if (!IsDue(member)) continue;
    const uint64_t bytes = sampled.contains(member.node) ? options_.bytes : 0;
    const Result<rpc::LinkMeasurement> measured = MeasurePaths(member, bytes);
    const MutexLock lock(mu_);
    if (stopping_) return;
    Entry& entry = links_[member.node];
    if (measured.ok()) entry.last = *measured;
    entry.addresses = member.control_addresses;
    entry.due_ns = clock_.NowNs() + (measured.ok() ? options_.again_ns : options_.retry_ns);
  }
}

bool LinkMeter::IsStopping() const {
  const MutexLock lock(mu_);
  return stopping_;
}

bool LinkMeter::IsDue(const cluster::Member& member) {
  if (member.state != cluster::MemberState::kAlive || member.control_addresses.empty())
    return false;
  const MutexLock lock(mu_);
  const auto found = links_.find(member.node);
  if (stopping_ || found == links_.end()) return !stopping_;
  return clock_.NowNs() >= found->second.due_ns ||
         found->second.addresses != member.control_addresses;
}

Result<rpc::LinkMeasurement> LinkMeter::MeasurePaths(const cluster::Member& member,
                                                     uint64_t bytes) const {
  std::vector<std::string> addresses = net::NearestAddressesFirst(member.control_addresses, clock_);
  addresses.resize(std::min(addresses.size(), kMaxPaths));
  Result<rpc::LinkMeasurement> best = Error(Code::kUnavailable, "no path was measured");
  const auto cost_ns = [](const rpc::LinkMeasurement& path) {
    return net::PathCostNs(static_cast<int64_t>(path.round_trip_ns), path.bytes_per_s);
  };
  for (const std::string& address : addresses) {
    if (IsStopping()) break;
    Result<rpc::LinkMeasurement> path = MeasurePath(member, address, bytes);
    if (!path.ok() && !best.ok()) best = path.error();
    if (path.ok() && (!best.ok() || cost_ns(*path) < cost_ns(*best))) best = path;
  }
  return best;
}

Result<rpc::LinkMeasurement> LinkMeter::MeasurePath(const cluster::Member& member,
                                                    const std::string& address,
                                                    uint64_t bytes) const {
  // An answer comes when threads of both machines have woken up, which takes longer than the way
  // where that is short; messages of a group of nodes need not wait for them.
  const int64_t way_ns = TRY(net::ConnectTime(address, clock_, kConnectNs));
  const auto client = TRY(
      rpc::ControlClient::Make({.identity = identity_, .address = address, .expect = member.node}));
  Result<rpc::LinkMeasurement> measured = client->Measure(bytes, options_.measure_ns);
  const bool is_late =
      bytes > 0 && !measured.ok() && measured.error().code() == Code::kDeadlineExceeded;
  if (is_late) {
    // A node that answers has a slow path: it is no faster than this. Any other may stand still.
    measured = TRY(client->Measure(/*bytes=*/0, options_.measure_ns));
    const double seconds = static_cast<double>(options_.measure_ns) / kNsPerSecond;
    measured->bytes_per_s = static_cast<double>(bytes) / seconds;
  }
  rpc::LinkMeasurement path = TRY(std::move(measured));
  path.round_trip_ns = std::min(path.round_trip_ns, static_cast<uint64_t>(way_ns));
  if (path.bytes_per_s > 0) {
    const auto endpoints = TRY(net::Resolve(TRY(net::ParseHostPort(address))));
    rates_->Set(endpoints.front().host(), path.bytes_per_s);
  }
  return path;
}

}  // namespace aster::node
