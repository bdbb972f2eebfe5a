// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster cluster: the membership of this machine.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "cli/cluster/cluster_commands.h"
#include "cli/commands.h"

namespace aster::cli {
namespace {

constexpr Command kClusterCommands[] = {
    {"init", "Make a cluster, with this machine as its first node", DeclareClusterInit},
    {"invite", "Print a code by which another machine may join", DeclareClusterInvite},
    {"join", "Join a cluster with a code", DeclareClusterJoin},
    {"show", "Print this machine's cluster and its other nodes", DeclareClusterShow},
    {"status", "Show layers, memory, links and rates of the nodes", DeclareClusterStatus},
    {"drain", "Take a node out of use, before it is switched off", DeclareClusterDrain},
    {"revoke", "Revoke a node", DeclareClusterRevoke},
    {"authority", "Make other machines holders of the cluster's key", DeclareClusterAuthority},
    {"leave", "Leave the cluster", DeclareClusterLeave},
};

}  // namespace

Run DeclareCluster(CLI::App& app) {
  app.require_subcommand(1);
  app.footer(
      "Three machines in a minute:\n"
      "  desktop$ aster cluster init && aster node big.gguf\n"
      "  desktop$ aster cluster invite          in another terminal\n"
      "  laptop$  aster cluster join K7QMP-2XRWD-9TJBH-4FNCE desktop && aster node\n"
      "docs/cluster.md describes trust and keys.");
  auto runs = std::make_shared<std::map<const CLI::App*, Run>>();
  for (const Command& command : kClusterCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    runs->emplace(sub, command.declare(*sub));
  }
  return
      [runs, &app](Console& console) { return runs->at(app.get_subcommands().front())(console); };
}

}  // namespace aster::cli
