// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The sub-commands of `aster cluster`, and their common parts: this machine's name, whether its
// node runs, and the format of times. cluster_command.cc lists them. Must not know what a cluster
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

// This machine's host name without the domain, as far as a node can have it.
std::string HostNodeName();
// The same for any text; "node" if none of its characters is allowed in a name.
std::string NodeNameOf(std::string_view host);

// Whether `text`, as a user typed it, means this node: its name, or the beginning of its id that
// `aster cluster status` prints.
bool IsMeant(std::string_view text, std::string_view name, cluster::NodeId node);

struct ChosenNode {
  cluster::NodeId node;
  std::string name;  // empty: unknown
};
// One of these nodes: by name, or by the beginning of an id; or any node by a whole id.
Result<ChosenNode> ChooseNode(const std::vector<cluster::KnownPeer>& peers,
                              const std::string& text);
// Revokes a node other than this machine's. Needs the authority's key.
Result<ChosenNode> RevokeNode(const OwnCluster& own, const std::string& text);

// The addresses of this machine's running `aster node`; empty if none runs.
std::vector<std::string> RunningNodeAddresses(const OwnCluster& own);

}  // namespace aster::cli
