// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Other nodes, as conductors and stages see them: sends messages, receives events. Must not know
// the transport (memory_network.h, tcp_network.h), nor what messages mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace aster::net {

// An event, in order per peer.
struct Event {
  enum class Kind : uint8_t {
    kMessage,
    kUp,    // a node is connected, by either side
    kDown,  // no longer: messages in flight in either direction may be lost
  };
  Kind kind = Kind::kMessage;
  wire::NodeId from;
  wire::Message message;   // for kMessage
  Status why;              // for kDown: never Ok()
  int64_t arrived_ns = 0;  // by the network's clock, before any waiting here; 0: unknown
};

// Send and Introduce are safe for concurrent use; one thread receives.
class Network {
 public:
  virtual ~Network() = default;

  virtual wire::NodeId self() const = 0;

  // The node's addresses, the best first. Connects; kUp or kDown follows. If the node is up, only
  // stores the addresses.
  virtual void Introduce(const wire::NodeId& node, const std::vector<std::string>& addresses) = 0;

  // Queues; never waits. Messages to one node arrive in order, each once, or kDown is reported.
  // Also sends to this node itself. After kDown it connects again. An error if the node was never
  // introduced and has not connected itself, if the message is larger than the node accepts, or if
  // the queue is full because the node takes nothing: then it is down as well. Also an error if the
  // node's protocol version lacks the message; if the version is not known yet, kDown follows.
  virtual Status Send(const wire::NodeId& to, wire::Message message) = 0;

  // The next event; waits until `deadline_ns` of clock() at most.
  virtual std::optional<Event> Receive(int64_t deadline_ns) = 0;

  // Moves arrived messages to Receive on the receiving thread, for events that are due within
  // microseconds, when another thread would wake up too late. False if that is useless. The next
  // Receive that waits ends this mode.
  virtual bool Pump() { return false; }

  // The protocol of a connected node and this one; before that the newest.
  virtual uint16_t ProtocolOf(const wire::NodeId& /*node*/) const { return wire::kNewestProtocol; }

  virtual const Clock& clock() const = 0;
};

}  // namespace aster::net
