// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The other nodes of a group, for the leader and opens the route on them. For the
// conductor all nodes of the group are one stage, which is ready when the last node is and holds
// the rows that all nodes hold. Must not know jobs and what is computed.
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

// The members for one stage of a route. Belongs to the thread that computes; the network outlives
// it.
class GroupMembers {
 public:
  // Opens a route with the number `group_route` on all members, with this node as its conductor. It
  // has its own number because members may have other stages of the group's route.
  GroupMembers(net::Network& network, wire::RouteId group_route, const wire::OpenRoute& open,
               const wire::StageGroup& group);
  // Closes that route.
  ~GroupMembers();
  GroupMembers(const GroupMembers&) = delete;
  GroupMembers& operator=(const GroupMembers&) = delete;

  // A member whose protocol is too old to open the route, and the error; nothing if there is none.
  const std::optional<std::pair<wire::NodeId, Error>>& unopened() const { return unopened_; }
  bool Has(const wire::NodeId& node) const { return states_.contains(node); }
  void SendToAll(const wire::Message& message) const;

  // An error if the member cannot do its part.
  Status OnState(const wire::NodeId& from, const wire::RouteState& state);
  bool is_ready() const;
  // Adds the bytes that members have loaded, and lowers the positions that fit to theirs.
  void AddTo(wire::RouteState& state) const;

  // A sequence begins: the stage's reply waits for those of all members.
  void Begin(const wire::Begin& begin, wire::Holds own);
  // Whether the beginning of this epoch still waits for members.
  bool IsAwaited(const wire::Holds& holds) const {
    const auto found = waiting_.find(holds.sequence);
    return found != waiting_.end() && found->second.holds.epoch == holds.epoch;
  }
  void End(wire::SequenceId sequence) { waiting_.erase(sequence); }
  // The stage's reply once the last member's has come: the shortest length of all, with the hash of
  // the whole history of this node.
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
