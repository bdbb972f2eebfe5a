// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A network on a virtual clock that does everything that happens to real ones: messages take time,
// those of different peers overtake each other, links are cut and either side notices late, nodes
// fail and return. Everything follows from the seed. Must not know what messages mean.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "net/network.h"

namespace aster::sim {

class SimNetwork;

// The record of a run. Its hash tells runs apart; its lines are for people.
class Trace {
 public:
  explicit Trace(bool keep_lines) : keep_lines_(keep_lines) {}

  void Add(int64_t now_ns, const std::string& line);
  Hash128 Digest() const { return hasher_.Digest(); }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  const bool keep_lines_;
  Hasher hasher_;
  std::vector<std::string> lines_;
};

// The links between all nodes. For one thread.
class SimHub {
 public:
  using Deliver = std::function<void(net::Event)>;

  SimHub(VirtualClock& clock, Random& random, Trace& trace)
      : clock_(clock), random_(random), trace_(trace) {}

  // Adds a node, whose events go to `deliver`.
  void Add(const wire::NodeId& node, Deliver deliver);
  // Removes the node; the others notice after a while.
  void Remove(const wire::NodeId& node);
  // Breaks the connection; each side notices after a time of its own.
  void Cut(const wire::NodeId& a, const wire::NodeId& b);
  // While true, the two nodes do not reach each other.
  void Separate(const wire::NodeId& a, const wire::NodeId& b, bool is_separate);
  void HealAll() { separate_.clear(); }
  bool has(const wire::NodeId& node) const { return nodes_.contains(node); }

  // When the next message arrives; kNeverNs if none is in flight.
  int64_t next_ns() const { return pending_.empty() ? kNeverNs : pending_.begin()->first.first; }
  // Delivers the next message, which must be due.
  void DeliverNext();

  // Messages take these times instead of random ones. A node sends them one after the other. Nodes
  // of `together` are on one machine, and reach each other at once.
  struct Link {
    int64_t latency_ns = 0;
    double bytes_per_s = 0;
    std::set<wire::NodeId> together = {};
  };
  void SetLink(const Link& link) { link_ = link; }

  // Messages sent from now on leave the node after this delay, in which it computes.
  void SetSendDelay(int64_t delay_ns) { send_delay_ns_ = delay_ns; }

 private:
  friend class SimNetwork;
  using Pair = std::pair<wire::NodeId, wire::NodeId>;  // from, to
  struct Pending {
    wire::NodeId to;
    uint64_t life = 0;  // life of the receiver
    uint64_t link = 0;  // the message is lost with this link; 0: with none
    net::Event event;
  };

  void Introduce(const wire::NodeId& self, const wire::NodeId& node);
  Status Send(const wire::NodeId& self, const wire::NodeId& to, wire::Message message);
  bool Connect(const wire::NodeId& self, const wire::NodeId& node);
  void Post(const wire::NodeId& to, int64_t due_ns, uint64_t link, net::Event event);
  // `link` is the one that ended; 0: an attempt to connect.
  void PostDown(const wire::NodeId& to, const wire::NodeId& peer, uint64_t link, int64_t delay_ns,
                const char* why);
  void Break(const wire::NodeId& a, const wire::NodeId& b, const char* why);
  int64_t Between(int64_t low_ns, int64_t high_ns);
  int64_t ArrivalOf(const Pair& way, int64_t leaves_ns, const wire::Message& message);

  VirtualClock& clock_;
  Random& random_;
  Trace& trace_;
  struct Node {
    uint64_t life = 0;
    Deliver deliver;
    std::set<wire::NodeId> introduced;
    std::map<wire::NodeId, uint64_t> up;  // peers and links that the node believes to be up
  };
  std::map<wire::NodeId, Node> nodes_;
  std::map<Pair, uint64_t> links_;       // the links that exist; smaller id first
  std::set<Pair> separate_;              // smaller id first
  std::map<Pair, int64_t> last_due_ns_;  // when the last message arrives, which keeps their order
  std::map<std::pair<int64_t, uint64_t>, Pending> pending_;  // by time, then by order
  uint64_t last_order_ = 0;
  uint64_t last_link_ = 0;
  uint64_t last_life_ = 0;
  int64_t send_delay_ns_ = 0;
  std::optional<Link> link_;
  std::map<wire::NodeId, int64_t> free_ns_;  // when each node's link has sent all earlier messages
};

// The network of one node.
class SimNetwork final : public net::Network {
 public:
  SimNetwork(SimHub& hub, const wire::NodeId& self) : hub_(hub), self_(self) {}

  wire::NodeId self() const override { return self_; }
  void Introduce(const wire::NodeId& node, const std::vector<std::string>&) override {
    hub_.Introduce(self_, node);
  }
  Status Send(const wire::NodeId& to, wire::Message message) override {
    return hub_.Send(self_, to, std::move(message));
  }
  // Events are delivered by SimHub, not received.
  std::optional<net::Event> Receive(int64_t) override { return std::nullopt; }
  const Clock& clock() const override { return hub_.clock_; }

 private:
  SimHub& hub_;
  const wire::NodeId self_;
};

}  // namespace aster::sim
