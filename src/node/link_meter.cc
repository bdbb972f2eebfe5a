// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/link_meter.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <system_error>
#include <utility>

#include "net/connect_time.h"
#include "net/nearest.h"

namespace aster::node {
namespace {

constexpr int64_t kMeterLookNs = 1 * kNsPerSecond;
constexpr int64_t kConnectNs = 2 * kNsPerSecond;

// Per node. More addresses are hardly separate paths.
constexpr size_t kMaxPaths = 4;
// Two measurements of one path differ if their ratio is larger.
constexpr double kDiffers = 1.5;
// A path has become slow if its rate fell by more: other traffic and late wake-ups explain less.
constexpr double kSlower = 4;
constexpr int64_t kLateNs = 10 * kNsPerMs;
constexpr int64_t kProbeNs = 5 * kNsPerSecond;
constexpr int64_t kReportNs = 60 * kNsPerSecond;

int64_t CostNs(const rpc::LinkMeasurement& path) {
  return net::PathCostNs(static_cast<int64_t>(path.round_trip_ns), path.bytes_per_s);
}

rpc::LinkMeasurement Better(const rpc::LinkMeasurement& one, const rpc::LinkMeasurement& other) {
  return {.round_trip_ns = std::min(one.round_trip_ns, other.round_trip_ns),
          .bytes_per_s = std::max(one.bytes_per_s, other.bytes_per_s)};
}

bool Differ(const rpc::LinkMeasurement& one, const rpc::LinkMeasurement& other) {
  const auto [low, high] = std::minmax({CostNs(one), CostNs(other)});
  return static_cast<double>(high) > kDiffers * static_cast<double>(low);
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

class LinkMeter::Calls {
 public:
  Calls(LinkMeter& meter, rpc::ControlClient& client) : meter_(meter) {
    const MutexLock lock(meter_.mu_);
    meter_.in_use_ = &client;
    if (meter_.stopping_) client.Cancel();
  }
  ~Calls() {
    const MutexLock lock(meter_.mu_);
    meter_.in_use_ = nullptr;
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

 private:
  LinkMeter& meter_;
};

LinkMeter::LinkMeter(cluster::Identity identity, Members members, Received received,
                     std::shared_ptr<net::PathRates> rates, Clock& clock, LinkMeterOptions options)
    : identity_(std::move(identity)),
      members_(std::move(members)),
      received_(std::move(received)),
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
    if (in_use_ != nullptr) in_use_->Cancel();
  }
  thread_.join();
}

rpc::LinkMeasurement LinkMeter::Of(const cluster::NodeId& node) const {
  const MutexLock lock(mu_);
  const auto found = links_.find(node);
  return found == links_.end() ? rpc::LinkMeasurement{} : found->second.best;
}

void LinkMeter::Doubt(const cluster::NodeId& node) {
  const MutexLock lock(mu_);
  const auto found = links_.find(node);
  if (found != links_.end()) found->second.is_doubted = true;
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
  Forget(members);
  for (size_t i = 1; i < members.size(); ++i) {
    const cluster::Member& member = members[i];
    if (IsDue(member)) {
      MeasureFully(member, sampled.contains(member.node) ? options_.bytes : 0);
    } else if (Probe(member)) {
      MeasureFully(member, options_.bytes);
    }
    ReportIfSlow(member);
    if (IsStopping()) return;
  }
}

void LinkMeter::Forget(const std::vector<cluster::Member>& but) {
  const MutexLock lock(mu_);
  std::erase_if(links_, [&](const auto& link) {
    return std::ranges::find(but, link.first, &cluster::Member::node) == but.end();
  });
}

void LinkMeter::MeasureFully(const cluster::Member& member, uint64_t bytes) {
  const Result<Paths> measured = MeasurePaths(member, bytes);
  const MutexLock lock(mu_);
  if (stopping_) return;
  Entry& entry = links_[member.node];
  if (measured.ok()) {
    Take(member, *measured);
  } else {
    entry.due_ns = clock_.NowNs() + options_.retry_ns;
  }
  entry.addresses = member.control_addresses;
}

bool LinkMeter::Probe(const cluster::Member& member) {
  std::string address;
  double known = 0;
  uint64_t before = 0;
  {
    const MutexLock lock(mu_);
    const auto found = links_.find(member.node);
    const int64_t now_ns = clock_.NowNs();
    const bool is_alive = member.state == cluster::MemberState::kAlive;
    if (stopping_ || !is_alive || found == links_.end()) return false;
    Entry& entry = found->second;
    if (entry.best_address.empty() || (now_ns < entry.probe_ns && !entry.is_doubted)) return false;
    entry.probe_ns = now_ns + ProbePauseNs(entry.best.bytes_per_s);
    before = received_(member.node);
    // The counter of a new connection begins at 0.
    const uint64_t fresh = before - std::min(before, entry.received);
    entry.received = before;
    if (fresh < options_.used_bytes && !entry.is_doubted) return false;
    entry.is_doubted = false;
    address = entry.best_address;
    known = entry.best.bytes_per_s;
    if (known == 0) return true;
  }
  const int64_t begin_ns = clock_.NowNs();
  const auto seen = MeasurePath(member, address, options_.probe_bytes, kProbeNs);
  const auto seconds = static_cast<double>(clock_.NowNs() - begin_ns) / kNsPerSecond;
  // Bytes received meanwhile came over the same link. If the probe's own bytes time out behind
  // them, they are all that the link carries.
  const uint64_t after = received_(member.node);
  const uint64_t came = after - std::min(after, before);
  const bool is_late =
      !seen.ok() && seen.error().code() == Code::kDeadlineExceeded && came >= options_.probe_bytes;
  if (!seen.ok() && !is_late) return false;
  const double rate =
      (seen.ok() ? seen->bytes_per_s : 0) + static_cast<double>(came) / std::max(seconds, 1e-3);
  const auto bytes = static_cast<double>(options_.probe_bytes);
  const double late_s = static_cast<double>(kLateNs) / kNsPerSecond;
  if (bytes / rate > kSlower * bytes / known + late_s) {
    Slow(member.node, rate);
  } else {
    AdjustSlow(member.node, rate);
  }
  return false;
}

int64_t LinkMeter::ProbePauseNs(double bytes_per_s) const {
  if (bytes_per_s <= 0) return options_.probe_ns;
  const double probe_s = static_cast<double>(options_.probe_bytes) / bytes_per_s;
  const double pause_s = options_.probe_share * std::min(probe_s, 60.0);
  return std::max(options_.probe_ns, static_cast<int64_t>(pause_s * kNsPerSecond));
}

void LinkMeter::Slow(const cluster::NodeId& node, double bytes_per_s) {
  const MutexLock lock(mu_);
  Entry& entry = links_[node];
  entry.best.bytes_per_s = bytes_per_s;
  entry.last = {{entry.best_address, entry.best}};  // earlier measurements do not count any more
  SetRate(entry.best_address, bytes_per_s);
  entry.pause_ns = options_.confirm_ns;
  entry.due_ns = clock_.NowNs() + entry.pause_ns;
  entry.report_until_ns = clock_.NowNs() + kReportNs;
}

// Other traffic makes every probe of a slow link uncertain, so their geometric mean counts.
void LinkMeter::AdjustSlow(const cluster::NodeId& node, double bytes_per_s) {
  const MutexLock lock(mu_);
  Entry& entry = links_[node];
  if (entry.best.bytes_per_s * kSlower >= entry.fastest_bytes_per_s) return;
  entry.best.bytes_per_s = std::sqrt(entry.best.bytes_per_s * bytes_per_s);
  entry.last = {{entry.best_address, entry.best}};
  SetRate(entry.best_address, entry.best.bytes_per_s);
}

// The other end does not look at a direction that is not used yet, and a plan with the nodes in the
// other order would be as slow. Over a full link it may take more than one try.
void LinkMeter::ReportIfSlow(const cluster::Member& member) {
  std::string address;
  {
    const MutexLock lock(mu_);
    const auto found = links_.find(member.node);
    if (stopping_ || found == links_.end() || clock_.NowNs() >= found->second.report_until_ns)
      return;
    address = found->second.best_address;
  }
  const auto client =
      rpc::ControlClient::Make({.identity = identity_, .address = address, .expect = member.node});
  if (!client.ok()) return;
  {
    const Calls calls(*this, **client);
    if (!(*client)->TellSlowLink().ok()) return;
  }
  const MutexLock lock(mu_);
  links_[member.node].report_until_ns = 0;
}

void LinkMeter::SetRate(const std::string& address, double bytes_per_s) {
  const auto host_port = net::ParseHostPort(address);
  const auto endpoints = host_port.ok() ? net::Resolve(*host_port) : host_port.error();
  if (endpoints.ok()) rates_->Set(endpoints->front().host(), bytes_per_s);
}

void LinkMeter::Take(const cluster::Member& member, const Paths& paths) {
  Entry& entry = links_[member.node];
  const bool is_first = entry.last.empty() || entry.addresses != member.control_addresses;
  if (entry.addresses != member.control_addresses) entry = Entry();
  bool differs = is_first;
  std::optional<rpc::LinkMeasurement> best;
  for (const auto& [address, path] : paths) {
    rpc::LinkMeasurement counts = path;
    if (const auto before = entry.last.find(address); before != entry.last.end()) {
      differs = differs || Differ(path, before->second);
      counts = Better(path, before->second);
    }
    if (counts.bytes_per_s > 0) SetRate(address, counts.bytes_per_s);
    if (best && CostNs(counts) >= CostNs(*best)) continue;
    best = counts;
    entry.best_address = address;
  }
  entry.best = best.value_or(rpc::LinkMeasurement{});
  entry.fastest_bytes_per_s = std::max(entry.fastest_bytes_per_s, entry.best.bytes_per_s);
  // A link that has become slow may have recovered: it is measured again soon.
  differs = differs || entry.best.bytes_per_s * kSlower < entry.fastest_bytes_per_s;
  entry.last = paths;
  entry.pause_ns = is_first ? options_.confirm_ns : 2 * entry.pause_ns;
  if (!differs) entry.pause_ns = options_.again_ns;
  entry.pause_ns = std::min(entry.pause_ns, options_.again_ns);
  entry.due_ns = clock_.NowNs() + entry.pause_ns;
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

Result<LinkMeter::Paths> LinkMeter::MeasurePaths(const cluster::Member& member, uint64_t bytes) {
  std::vector<std::string> addresses = net::NearestAddressesFirst(member.control_addresses, clock_);
  addresses.resize(std::min(addresses.size(), kMaxPaths));
  Paths paths;
  Error why(Code::kUnavailable, "no path was measured");
  for (const std::string& address : addresses) {
    if (IsStopping()) break;
    const Result<rpc::LinkMeasurement> path =
        MeasurePath(member, address, bytes, options_.measure_ns);
    if (path.ok()) {
      paths[address] = *path;
    } else {
      why = path.error();
    }
  }
  if (paths.empty()) return why;
  return paths;
}

Result<rpc::LinkMeasurement> LinkMeter::MeasurePath(const cluster::Member& member,
                                                    const std::string& address, uint64_t bytes,
                                                    int64_t patience_ns) {
  // A call includes waking threads on both machines, which takes longer than a short path. Nodes of
  // a group poll and need no wake-ups, so the connect time counts.
  const int64_t way_ns = TRY(net::ConnectTime(address, clock_, kConnectNs));
  const auto client = TRY(
      rpc::ControlClient::Make({.identity = identity_, .address = address, .expect = member.node}));
  const Calls calls(*this, *client);
  Result<rpc::LinkMeasurement> measured = client->Measure(bytes, patience_ns);
  const bool is_late =
      bytes > 0 && !measured.ok() && measured.error().code() == Code::kDeadlineExceeded;
  if (is_late) {
    // A node that answers an empty call has a slow path, with this rate at most. Otherwise it may
    // be stalled.
    measured = TRY(client->Measure(/*bytes=*/0, patience_ns));
    const double seconds = static_cast<double>(patience_ns) / kNsPerSecond;
    measured->bytes_per_s = static_cast<double>(bytes) / seconds;
  }
  rpc::LinkMeasurement path = TRY(std::move(measured));
  path.round_trip_ns = std::min(path.round_trip_ns, static_cast<uint64_t>(way_ns));
  return path;
}

}  // namespace aster::node
