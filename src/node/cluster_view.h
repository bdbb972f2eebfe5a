// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A cluster as a front end sees it: whom it can ask, and what each node says of itself. Must not
// know what the front end wants to run.
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

// What is known of a node; the last two are missing where it did not answer.
struct NodeView {
  cluster::Member member;
  std::optional<cluster::Description> description;
  std::optional<cluster::NodeStatus> status;
  std::string why;  // it did not answer
};

// Calls may come from any thread, one at a time.
class ClusterView {
 public:
  // Tries these addresses (HOST:PORT), many at once, and takes the node that answers soonest. An
  // error says what each said; its code is DeadlineExceeded where all of them are silent.
  static Result<std::unique_ptr<ClusterView>> Connect(cluster::Identity identity,
                                                      const std::vector<std::string>& addresses);

  // Asks every node that may be reached, all at once, and waits for the answers, a few seconds at
  // most. Those that are doubted are asked when the others have answered, which says how long they
  // are worth waiting for. Nodes that are dead or gone are listed and not asked.
  Result<std::vector<NodeView>> Look(std::span<const cluster::NodeId> doubted = {});

  // Tells these nodes, all at once, that weights may be fetched from this machine. Those that do
  // not hear it, or are of an older version, go without.
  void OfferWeights(std::span<const NodeView> nodes, const rpc::WeightsOffer& offer) const;

  const cluster::Identity& identity() const { return identity_; }
  // As they were told last.
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
    std::string text;  // a line of each
    bool are_all_silent = true;
  };

  // Through whichever of these answers; null, and more reasons, where none does.
  static std::unique_ptr<ClusterView> TryAll(const cluster::Identity& identity,
                                             std::span<const std::string> addresses,
                                             Reasons& reasons);
  Result<std::vector<cluster::Member>> Members(std::span<const cluster::NodeId> doubted);
  // From any of the members for which `may_know` holds, which is asked from then on. The address
  // that is silent is not tried.
  Result<std::vector<cluster::Member>> AskOther(
      const std::function<bool(const cluster::Member&)>& may_know, const std::string& silent = "");
  void AskAbout(NodeView& view, int64_t patience_ns) const;

  const cluster::Identity identity_;
  std::shared_ptr<rpc::ControlClient> entry_;
  std::string entry_address_;
  std::vector<cluster::Member> members_;  // as they were told last
};

// Where these can be reached, for later commands of this machine. Writes only what is new.
Status RememberMembers(const cluster::Home& home, const std::vector<cluster::Member>& members);

}  // namespace aster::node
