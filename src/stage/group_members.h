// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The other nodes of a group, as the node that leads it sees them: it opens the route on them, and
// to the conductor all of them are one stage, which is ready when the last one is and holds what
// all of them hold. Must not know jobs and what is computed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/network.h"
#include "wire/messages.h"

namespace aster::stage {

// Of one route and stage. Belongs to the thread that computes; the network outlives it.
class GroupMembers {
 public:
  // Opens a route with the number `group_route` on all of them, in this node's name: they may have
  // other stages of the route that the group belongs to.
  GroupMembers(net::Network& network, wire::RouteId group_route, const wire::OpenRoute& open,
               const wire::StageGroup& group);
  // Closes it.
  ~GroupMembers();
  GroupMembers(const GroupMembers&) = delete;
  GroupMembers& operator=(const GroupMembers&) = delete;

  // A member that cannot be told to open the route, with why: it speaks too old a protocol.
  const std::optional<std::pair<wire::NodeId, Error>>& unopened() const { return unopened_; }
  bool Has(const wire::NodeId& node) const { return states_.contains(node); }
  void SendToAll(const wire::Message& message) const;

  // An error where the member cannot do its part.
  Status OnState(const wire::NodeId& from, const wire::RouteState& state);
  bool is_ready() const;
  // Adds what they have loaded, and lowers the positions that fit to theirs.
  void AddTo(wire::RouteState& state) const;

  // A sequence begins: the stage's reply waits for those of all members.
  void Begin(const wire::Begin& begin, wire::Holds own);
  // Whether the epoch's beginning waits for some.
  bool IsAwaited(const wire::Holds& holds) const {
    const auto found = waiting_.find(holds.sequence);
    return found != waiting_.end() && found->second.holds.epoch == holds.epoch;
  }
  void End(wire::SequenceId sequence) { waiting_.erase(sequence); }
  // The stage's reply, as long as the shortest one, once the last member's has come. Its hash is
  // that of the whole history of this node.
  std::optional<wire::Holds> OnHolds(const wire::NodeId& from, const wire::Holds& holds);

 private:
  struct Waiting {
    wire::Holds holds;
    std::set<wire::NodeId> missing;
  };

  net::Network& network_;
  const wire::RouteId route_;
  std::map<wire::NodeId, wire::RouteState> states_;
  std::map<wire::SequenceId, Waiting> waiting_;
  std::optional<std::pair<wire::NodeId, Error>> unopened_;
};

}  // namespace aster::stage
