// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A cluster as a front end sees it: its members, and their descriptions and status. Must not know
// what the front end wants to run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cluster/description.h"
#include "cluster/home.h"
#include "cluster/identity.h"
#include "cluster/member.h"
#include "rpc/control_client.h"

namespace aster::node {

// One node; description and status are missing if it did not answer.
struct NodeView {
  cluster::Member member;
  std::optional<cluster::Description> description;
  std::optional<cluster::NodeStatus> status;
  std::string why;  // why it did not answer
};

// Calls may come from any thread, one at a time.
class ClusterView {
 public:
  // Tries these addresses (HOST:PORT) at once, and uses the node that answers first. The error
  // lists the error of each address; its code is DeadlineExceeded if none answers.
  static Result<std::unique_ptr<ClusterView>> Connect(cluster::Identity identity,
                                                      const std::vector<std::string>& addresses);

  // Asks all nodes that may be reachable at once, and waits a few seconds at most. Suspect nodes
  // are asked last, as the time that the others take decides how long to wait for them. Nodes that
  // are dead or have left are listed, but not asked.
  Result<std::vector<NodeView>> Look(std::span<const cluster::NodeId> doubted = {});

  // Tells these nodes at once that they may fetch weights from this machine. Nodes that cannot be
  // reached, or have an older version, are left out.
  void OfferWeights(std::span<const NodeView> nodes, const rpc::WeightsOffer& offer) const;

  const cluster::Identity& identity() const { return identity_; }
  // The members as last known.
  const std::vector<cluster::Member>& members() const { return members_; }

 private:
  ClusterView(cluster::Identity identity, std::shared_ptr<rpc::ControlClient> entry,
              std::string entry_address, std::vector<cluster::Member> members)
      : identity_(std::move(identity)),
        entry_(std::move(entry)),
        entry_address_(std::move(entry_address)),
        members_(std::move(members)) {}

  // Why no node answers.
  struct Reasons {
    std::string text;  // one line per node
    bool are_all_silent = true;
  };

  // A client of the first address that answers; if none does, null, and adds the reasons.
  static std::unique_ptr<ClusterView> TryAll(const cluster::Identity& identity,
                                             std::span<const std::string> addresses,
                                             Reasons& reasons);
  Result<std::vector<cluster::Member>> Members(std::span<const cluster::NodeId> doubted);
  // Gets the members from a node for which `may_know` is true, which becomes the entry node. Does
  // not try the silent address.
  Result<std::vector<cluster::Member>> AskOther(
      const std::function<bool(const cluster::Member&)>& may_know, const std::string& silent = "");
  void QueryStatus(NodeView& view, int64_t patience_ns) const;

  const cluster::Identity identity_;
  std::shared_ptr<rpc::ControlClient> entry_;
  std::string entry_address_;
  std::vector<cluster::Member> members_;  // as last known
};

// Writes the addresses of these nodes for later commands on this machine, if they are new.
Status RememberMembers(const cluster::Home& home, const std::vector<cluster::Member>& members);

}  // namespace aster::node
