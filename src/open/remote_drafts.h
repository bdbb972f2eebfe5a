// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The drafters of this machine's cluster, as a command names them: one node's, or all that draft
// for the model's vocabulary. Must not know who checks draft tokens.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "draft/proposers.h"
#include "drafting/remote_proposers.h"
#include "gguf/model_files.h"
#include "net/network.h"
#include "net/tcp_network.h"
#include "open/cluster_options.h"
#include "open/drafter_search.h"
#include "open/figures.h"

namespace aster::open {

class RemoteDrafts {
 public:
  // `node`: the name of a node. Empty: all drafters of the cluster, and n-gram lookup here if they
  // have no draft tokens; then there need not be a cluster. A node that cannot be reached drafts
  // nothing; with `keeps_looking`, it is used as soon as it can be reached.
  static Result<std::unique_ptr<RemoteDrafts>> Find(const std::string& node,
                                                    const gguf::ModelFiles& files,
                                                    const ClusterOptions& cluster,
                                                    bool keeps_looking);

  // Returns the same source each time. `network`, if it is not null, is the one that the model's
  // nodes are connected to: it outlives everything here, and its owner passes events on.
  engine::ProposerSource& Source(net::Network* network);
  // Returns whether there may be new draft tokens.
  bool OnEvent(const net::Event& event) { return source_ != nullptr && source_->Handle(event); }
  std::vector<drafting::RemoteDraftCounts> counts() const;

 private:
  std::vector<drafting::RemoteDrafter> drafters_;
  drafting::Vocabulary vocabulary_;
  std::unique_ptr<draft::Proposers> fallback_;  // null: none
  std::unique_ptr<net::TcpNetwork> network_;    // null: the model's network is used
  SystemClock clock_;
  std::unique_ptr<DrafterSearch> search_;              // null: none
  std::unique_ptr<drafting::RemoteProposers> source_;  // set by the first call of Source
};

// "comet on attic: 120 draft tokens proposed, 71 accepted, 40 cancelled", a line each.
std::string DescribeRemoteDrafts(const std::vector<drafting::RemoteDraftCounts>& counts);

RemoteDraftFigures FiguresOf(const std::vector<drafting::RemoteDraftCounts>& counts);

}  // namespace aster::open
