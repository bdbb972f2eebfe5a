// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The sub-commands of `aster cluster`, and what they share: this machine's name, whether its node
// runs, and how times are written. cluster_command.cc lists them. Must not know what a cluster
// computes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cluster/home.h"
#include "cluster/identity.h"

namespace aster::cli {

Run DeclareClusterAuthority(CLI::App& app);
Run DeclareClusterDrain(CLI::App& app);
Run DeclareClusterInit(CLI::App& app);
Run DeclareClusterInvite(CLI::App& app);
Run DeclareClusterJoin(CLI::App& app);
Run DeclareClusterLeave(CLI::App& app);
Run DeclareClusterRevoke(CLI::App& app);
Run DeclareClusterShow(CLI::App& app);
Run DeclareClusterStatus(CLI::App& app);

// The cluster of this machine.
struct OwnCluster {
  cluster::Home home;
  cluster::Identity identity;
};
Result<OwnCluster> LoadOwnCluster();

// The seconds since 1970.
int64_t WallSeconds();
// "2026-11-21", in UTC.
std::string DayOf(int64_t wall_s);

// What others call this machine, as far as a node can be called so: without the domain.
std::string HostNodeName();
// The same, of any text; "node" where nothing of it can stand in a name.
std::string NodeNameOf(std::string_view host);

// Whether `text`, as a user typed it, means this node: by its name, or by the beginning of its id
// that `aster cluster status` prints.
bool IsMeant(std::string_view text, std::string_view name, cluster::NodeId node);

struct ChosenNode {
  cluster::NodeId node;
  std::string name;  // empty: not known
};
// Of these, by name, by the beginning of an id, or by a whole id, of which nothing more needs to be
// known.
Result<ChosenNode> ChooseNode(const std::vector<cluster::KnownPeer>& peers,
                              const std::string& text);
// Another node than this machine's, which is trusted no longer. Only where the authority's key is.
Result<ChosenNode> RevokeNode(const OwnCluster& own, const std::string& text);

// Where `aster node` on this machine answers at the moment; nothing where none runs.
std::vector<std::string> RunningNodeAddresses(const OwnCluster& own);

}  // namespace aster::cli
