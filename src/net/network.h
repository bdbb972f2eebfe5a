// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Other nodes, as conductors and stages see them: messages go out, events come in. Must not know
// how they travel (memory_network.h, tcp_network.h), nor what they say.
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

// What comes in, in order per peer.
struct Event {
  enum class Kind : uint8_t {
    kMessage,
    kUp,    // a node can be reached, or has reached us
    kDown,  // it cannot any more: whatever was under way in either direction may be lost
  };
  Kind kind = Kind::kMessage;
  wire::NodeId from;
  wire::Message message;   // of kMessage
  Status why;              // of kDown: never Ok()
  int64_t arrived_ns = 0;  // of the network's clock, however long it waited since; 0: not known
};

// Send and Introduce are safe for concurrent use; one thread receives.
class Network {
 public:
  virtual ~Network() = default;

  virtual wire::NodeId self() const = 0;

  // Where a node can be reached, the best address first. Connects; kUp or kDown follows. Again for
  // a node that is up: nothing happens but that the addresses are kept.
  virtual void Introduce(const wire::NodeId& node, const std::vector<std::string>& addresses) = 0;

  // Queues; never waits. Messages to one node arrive in order, each once, or kDown is told. To
  // oneself too. After kDown it connects again. An error where the node was never introduced and
  // has not come by itself, where the message is larger than the node takes, or where the node has
  // taken nothing until its queue was full: then it is down as well. An error, too, where its
  // version of the protocol cannot say it; where that is not known yet kDown follows.
  virtual Status Send(const wire::NodeId& to, wire::Message message) = 0;

  // The next event, waiting until `deadline_ns` of clock() at most.
  virtual std::optional<Event> Receive(int64_t deadline_ns) = 0;

  // Moves what has come to where Receive finds it, in the thread that receives: for events that are
  // due within microseconds, when another thread would wake up too late. False where that is of no
  // use. The next Receive that waits ends it.
  virtual bool Pump() { return false; }

  // The protocol that a node and this one speak, once they have met; before that the newest.
  virtual uint16_t ProtocolOf(const wire::NodeId& /*node*/) const { return wire::kNewestProtocol; }

  virtual const Clock& clock() const = 0;
};

}  // namespace aster::net
