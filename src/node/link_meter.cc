// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/link_meter.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "net/connect_time.h"
#include "node/ask.h"

namespace aster::node {
namespace {

constexpr int64_t kMeterLookNs = 1 * kNsPerSecond;
constexpr int64_t kMeasureNs = 20 * kNsPerSecond;
constexpr int64_t kConnectNs = 2 * kNsPerSecond;

// An answer comes when threads of both machines have woken up, which takes longer than the way
// where that is short; messages of a group of nodes need not wait for them.
void ShortenToWay(const cluster::Member& member, const Clock& clock, rpc::LinkMeasurement& link) {
  for (const std::string& address : member.control_addresses) {
    const Result<int64_t> way_ns = net::ConnectTime(address, clock, kConnectNs);
    if (!way_ns.ok()) continue;
    link.round_trip_ns = std::min(link.round_trip_ns, static_cast<uint64_t>(*way_ns));
    return;
  }
}

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

LinkMeter::LinkMeter(cluster::Identity identity, Members members, Clock& clock,
                     LinkMeterOptions options)
    : identity_(std::move(identity)),
      members_(std::move(members)),
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
    if (member.state != cluster::MemberState::kAlive || member.control_addresses.empty()) continue;
    {
      const MutexLock lock(mu_);
      if (stopping_) return;
      if (clock_.NowNs() < links_[member.node].due_ns) continue;
    }
    const uint64_t bytes = sampled.contains(member.node) ? options_.bytes : 0;
    Result<rpc::LinkMeasurement> measured =
        AskAnywhere(identity_, member,
                    [&](rpc::ControlClient& client) { return client.Measure(bytes, kMeasureNs); });
    if (measured.ok()) ShortenToWay(member, clock_, *measured);
    const MutexLock lock(mu_);
    Entry& entry = links_[member.node];
    if (measured.ok()) entry.last = *measured;
    entry.due_ns = clock_.NowNs() + (measured.ok() ? options_.again_ns : options_.retry_ns);
  }
}

}  // namespace aster::node
