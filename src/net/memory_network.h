// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Several nodes in one process, connected in memory: for tests, with faults of real links on
// demand. Messages are encoded and decoded as on a real link. Must not know sockets.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "net/network.h"
#include "wire/messages.h"

namespace aster::net {

class MemoryNetwork;

// The links between the nodes. Outlives their networks. Safe for concurrent use.
class MemoryHub {
 public:
  // The clock outlives the hub. If others send to a node that is silent for `silence_ns`, it counts
  // as failed.
  explicit MemoryHub(Clock& clock, int64_t silence_ns = 5 * kNsPerSecond);
  ~MemoryHub();

  // A node that exists until its network is destroyed: then it is down for all others. Addresses
  // are ignored; introducing a missing node ends in kDown.
  std::unique_ptr<MemoryNetwork> Join(const wire::NodeId& node);

  // Breaks the connection between two nodes: both get kDown, and messages in flight are lost. They
  // may connect again.
  void Cut(const wire::NodeId& a, const wire::NodeId& b);
  // Later messages from `from` to `to` take `delay_ns`.
  void Delay(const wire::NodeId& from, const wire::NodeId& to, int64_t delay_ns);
  // Messages from and to a node are lost, as if its machine was switched off. The others get kDown
  // when it was silent for too long.
  void Silence(const wire::NodeId& node, bool is_silent = true);
  // New connections to the node fail; existing ones stay.
  void Refuse(const wire::NodeId& node, bool does_refuse = true);
  // The node speaks protocols up to this one.
  void LimitProtocol(const wire::NodeId& node, uint16_t newest);
  // A connection goes down instead of queueing more than this many bytes.
  void LimitQueues(uint64_t max_bytes);

 private:
  friend class MemoryNetwork;
  using Link = std::pair<wire::NodeId, wire::NodeId>;  // from, to

  struct Arrival {
    int64_t due_ns = 0;
    uint64_t bytes = 0;
    Event event;
  };
  struct Node {
    std::deque<Arrival> arrivals;  // sorted by due_ns; equal ones in the order of sending
    std::set<wire::NodeId> introduced;
    std::set<wire::NodeId> up;  // in both nodes' sets, or in neither
    CondVar arrived;
  };

  void Introduce(const wire::NodeId& self, const wire::NodeId& node) EXCLUDES(mu_);
  Status Send(const wire::NodeId& self, const wire::NodeId& to, wire::Message message)
      EXCLUDES(mu_);
  std::optional<Event> Receive(const wire::NodeId& self, int64_t deadline_ns) EXCLUDES(mu_);
  void Leave(const wire::NodeId& self) EXCLUDES(mu_);
  uint16_t ProtocolOf(const wire::NodeId& self, const wire::NodeId& node) EXCLUDES(mu_);

  bool Connect(const wire::NodeId& self, const wire::NodeId& node) REQUIRES(mu_);
  void Disconnect(const wire::NodeId& a, const wire::NodeId& b, const Error& why) REQUIRES(mu_);
  void Enqueue(const wire::NodeId& node, int64_t due_ns, uint64_t bytes, Event event) REQUIRES(mu_);
  void ReportDown(const wire::NodeId& node, const wire::NodeId& peer, int64_t due_ns, Error why)
      REQUIRES(mu_);
  void DropFrom(const wire::NodeId& node, const wire::NodeId& peer) REQUIRES(mu_);
  void DropSilentPeers() REQUIRES(mu_);

  Clock& clock_;
  const int64_t silence_ns_;
  Mutex mu_;
  std::map<wire::NodeId, Node> nodes_ GUARDED_BY(mu_);
  std::map<Link, int64_t> delay_ns_ GUARDED_BY(mu_);
  std::map<wire::NodeId, int64_t> silent_since_ns_ GUARDED_BY(mu_);
  std::set<wire::NodeId> refusing_ GUARDED_BY(mu_);
  std::map<wire::NodeId, uint16_t> newest_protocol_ GUARDED_BY(mu_);
  uint64_t max_queue_bytes_ GUARDED_BY(mu_) = uint64_t{1} << 30;
};

// One node's end.
class MemoryNetwork final : public Network {
 public:
  ~MemoryNetwork() override { hub_.Leave(self_); }
  MemoryNetwork(const MemoryNetwork&) = delete;
  MemoryNetwork& operator=(const MemoryNetwork&) = delete;

  wire::NodeId self() const override { return self_; }
  void Introduce(const wire::NodeId& node, const std::vector<std::string>& /*addresses*/) override {
    hub_.Introduce(self_, node);
  }
  Status Send(const wire::NodeId& to, wire::Message message) override {
    return hub_.Send(self_, to, std::move(message));
  }
  std::optional<Event> Receive(int64_t deadline_ns) override {
    return hub_.Receive(self_, deadline_ns);
  }
  uint16_t ProtocolOf(const wire::NodeId& node) const override {
    return hub_.ProtocolOf(self_, node);
  }
  const Clock& clock() const override { return hub_.clock_; }

 private:
  friend class MemoryHub;
  MemoryNetwork(MemoryHub& hub, const wire::NodeId& self) : hub_(hub), self_(self) {}

  MemoryHub& hub_;
  const wire::NodeId self_;
};

}  // namespace aster::net
