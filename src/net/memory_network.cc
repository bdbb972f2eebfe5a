// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/memory_network.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "wire/codec.h"

namespace aster::net {

using wire::NodeId;

namespace {

Error Unavailable(std::string message) { return {Code::kUnavailable, std::move(message)}; }

// As the receiver decodes it.
Result<wire::Message> ThroughTheCodec(wire::Message&& message, uint64_t& bytes) {
  wire::Frame frame = wire::Encode(std::move(message));
  const Bytes head(frame.head);
  const wire::FrameHeader header = TRY(wire::ParseHeader(head.first(wire::kHeaderBytes), {}));
  bytes = wire::CostOf(header.frame_bytes());
  return wire::Decode(header, head.subspan(wire::kHeaderBytes), std::move(frame.payload));
}

}  // namespace

MemoryHub::MemoryHub(Clock& clock, int64_t silence_ns) : clock_(clock), silence_ns_(silence_ns) {}

MemoryHub::~MemoryHub() {
  MutexLock lock(mu_);
  CHECK_NOTE(nodes_.empty(), "destroy the nodes' networks before their hub");
}

std::unique_ptr<MemoryNetwork> MemoryHub::Join(const NodeId& node) {
  MutexLock lock(mu_);
  CHECK_NOTE(!nodes_.contains(node), "two nodes of one name");
  nodes_.try_emplace(node);
  // tidy: allow(ownership) make_unique does not reach a private constructor
  return std::unique_ptr<MemoryNetwork>(new MemoryNetwork(*this, node));
}

void MemoryHub::Leave(const NodeId& self) {
  MutexLock lock(mu_);
  const std::set<NodeId> peers = nodes_.at(self).up;
  for (const NodeId& peer : peers) {
    Disconnect(self, peer, Unavailable(fmt::format("node {} was closed", self.ToText())));
  }
  nodes_.erase(self);
}

void MemoryHub::Cut(const NodeId& a, const NodeId& b) {
  MutexLock lock(mu_);
  Disconnect(a, b, Unavailable("the connection was cut"));
}

void MemoryHub::Delay(const NodeId& from, const NodeId& to, int64_t delay_ns) {
  MutexLock lock(mu_);
  delay_ns_[{from, to}] = delay_ns;
}

void MemoryHub::Silence(const NodeId& node, bool is_silent) {
  MutexLock lock(mu_);
  if (!is_silent) {
    silent_since_ns_.erase(node);
    return;
  }
  silent_since_ns_.try_emplace(node, clock_.NowNs());
  for (auto& [id, other] : nodes_) other.arrived.NotifyAll();  // they have a deadline now
}

void MemoryHub::Refuse(const NodeId& node, bool does_refuse) {
  MutexLock lock(mu_);
  if (does_refuse) {
    refusing_.insert(node);
  } else {
    refusing_.erase(node);
  }
}

void MemoryHub::LimitProtocol(const NodeId& node, uint16_t newest) {
  MutexLock lock(mu_);
  newest_protocol_[node] = newest;
}

uint16_t MemoryHub::ProtocolOf(const NodeId& self, const NodeId& node) {
  MutexLock lock(mu_);
  uint16_t protocol = wire::kNewestProtocol;
  for (const NodeId& each : {self, node}) {
    const auto limit = newest_protocol_.find(each);
    if (limit != newest_protocol_.end()) protocol = std::min(protocol, limit->second);
  }
  return protocol;
}

void MemoryHub::LimitQueues(uint64_t max_bytes) {
  MutexLock lock(mu_);
  max_queue_bytes_ = max_bytes;
}

void MemoryHub::Introduce(const NodeId& self, const NodeId& node) {
  MutexLock lock(mu_);
  nodes_.at(self).introduced.insert(node);
  if (node != self) Connect(self, node);
}

bool MemoryHub::Connect(const NodeId& self, const NodeId& node) {
  Node& own = nodes_.at(self);
  if (own.up.contains(node)) return true;
  const int64_t now_ns = clock_.NowNs();
  // Connecting to a silent node fails after the time that a real connection would wait, to a
  // missing one at once.
  if (silent_since_ns_.contains(node) || silent_since_ns_.contains(self)) {
    ReportDown(
        self, node, now_ns + silence_ns_,
        Error(Code::kDeadlineExceeded, fmt::format("node {} does not answer", node.ToText())));
    return false;
  }
  if (!nodes_.contains(node) || refusing_.contains(node)) {
    ReportDown(self, node, now_ns,
               Unavailable(fmt::format("node {} does not take connections", node.ToText())));
    return false;
  }
  own.up.insert(node);
  nodes_.at(node).up.insert(self);
  Enqueue(self, now_ns, 0, {.kind = Event::Kind::kUp, .from = node, .message = {}, .why = Ok()});
  Enqueue(node, now_ns, 0, {.kind = Event::Kind::kUp, .from = self, .message = {}, .why = Ok()});
  return true;
}

void MemoryHub::DropFrom(const NodeId& node, const NodeId& peer) {
  std::deque<Arrival>& arrivals = nodes_.at(node).arrivals;
  std::erase_if(arrivals, [&](const Arrival& arrival) {
    return arrival.event.from == peer && arrival.event.kind == Event::Kind::kMessage &&
           arrival.due_ns > clock_.NowNs();
  });
}

void MemoryHub::Disconnect(const NodeId& a, const NodeId& b, const Error& why) {
  const int64_t now_ns = clock_.NowNs();
  for (const auto& [node, peer] : {Link(a, b), Link(b, a)}) {
    const auto found = nodes_.find(node);
    if (found == nodes_.end() || found->second.up.erase(peer) == 0) continue;
    DropFrom(node, peer);
    ReportDown(node, peer, now_ns, why);
  }
}

void MemoryHub::ReportDown(const NodeId& node, const NodeId& peer, int64_t due_ns, Error why) {
  Enqueue(node, due_ns, 0,
          {.kind = Event::Kind::kDown, .from = peer, .message = {}, .why = std::move(why)});
}

void MemoryHub::Enqueue(const NodeId& node, int64_t due_ns, uint64_t bytes, Event event) {
  Node& receiver = nodes_.at(node);
  // In order per peer, however delays change.
  for (const Arrival& arrival : receiver.arrivals) {
    if (arrival.event.from == event.from) due_ns = std::max(due_ns, arrival.due_ns);
  }
  const auto place = std::upper_bound(
      receiver.arrivals.begin(), receiver.arrivals.end(), due_ns,
      [](int64_t time_ns, const Arrival& arrival) { return time_ns < arrival.due_ns; });
  receiver.arrivals.insert(place, Arrival{due_ns, bytes, std::move(event)});
  receiver.arrived.NotifyAll();
}

Status MemoryHub::Send(const NodeId& self, const NodeId& to, wire::Message message) {
  uint64_t bytes = 0;
  const uint16_t protocol = ProtocolOf(self, to);
  if (to != self && wire::VersionOf(message) > protocol) {
    return FailedPrecondition(fmt::format("it needs protocol {}, and node {} speaks {}",
                                          wire::VersionOf(message), to.ToText(), protocol));
  }
  Result<wire::Message> arriving = ThroughTheCodec(std::move(message), bytes);
  if (!arriving.ok()) return std::move(arriving).error();
  Event event{
      .kind = Event::Kind::kMessage, .from = self, .message = std::move(*arriving), .why = Ok()};

  MutexLock lock(mu_);
  const int64_t now_ns = clock_.NowNs();
  if (to != self) {
    Node& own = nodes_.at(self);
    if (!own.up.contains(to) && !own.introduced.contains(to)) {
      return FailedPrecondition(
          fmt::format("the address of node {} is not known: introduce it first", to.ToText()));
    }
    // kDown reports undelivered messages, as with real connections.
    if (!Connect(self, to)) return Ok();
    if (silent_since_ns_.contains(self) || silent_since_ns_.contains(to)) return Ok();
  }
  // Queues are bounded per sender, as in Outbox.
  uint64_t queued_bytes = bytes;
  for (const Arrival& arrival : nodes_.at(to).arrivals) {
    if (arrival.event.from == self) queued_bytes += arrival.bytes;
  }
  if (queued_bytes > max_queue_bytes_ && queued_bytes > bytes) {
    Error full = ResourceExhausted(fmt::format("node {} reads nothing: {} bytes wait for it",
                                               to.ToText(), queued_bytes - bytes));
    if (to != self) Disconnect(self, to, full);
    return full;
  }
  const auto delay = delay_ns_.find({self, to});
  Enqueue(to, now_ns + (delay == delay_ns_.end() ? 0 : delay->second), bytes, std::move(event));
  return Ok();
}

void MemoryHub::DropSilentPeers() {
  const int64_t now_ns = clock_.NowNs();
  for (const auto& [node, since_ns] : silent_since_ns_) {
    const auto found = nodes_.find(node);
    if (found == nodes_.end() || now_ns - since_ns < silence_ns_) continue;
    const std::set<NodeId> peers = found->second.up;
    for (const NodeId& peer : peers) {
      Disconnect(node, peer,
                 Error(Code::kDeadlineExceeded,
                       fmt::format("nothing was heard for {} ms", silence_ns_ / kNsPerMs)));
    }
  }
}

std::optional<Event> MemoryHub::Receive(const NodeId& self, int64_t deadline_ns) {
  MutexLock lock(mu_);
  Node& own = nodes_.at(self);
  for (;;) {
    DropSilentPeers();
    const int64_t now_ns = clock_.NowNs();
    int64_t wake_ns = deadline_ns;
    if (!own.arrivals.empty()) {
      if (own.arrivals.front().due_ns <= now_ns) {
        Event event = std::move(own.arrivals.front().event);
        own.arrivals.pop_front();
        return event;
      }
      wake_ns = std::min(wake_ns, own.arrivals.front().due_ns);
    }
    // Waits until the next arrival, the timeout of a silent peer, or the deadline.
    if (now_ns >= deadline_ns) return std::nullopt;
    for (const auto& [node, since_ns] : silent_since_ns_) {
      const bool is_near = node == self ? !own.up.empty() : own.up.contains(node);
      if (is_near) wake_ns = std::min(wake_ns, since_ns + silence_ns_);
    }
    clock_.WaitUntil(own.arrived, mu_, wake_ns);
  }
}

}  // namespace aster::net
