// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster cluster init and leave: the beginning and the end of a cluster on this machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/cluster/cluster_commands.h"
#include "cli/terminal/console.h"
#include "cluster/join.h"

namespace aster::cli {
namespace {

struct InitOptions {
  std::string name = "home";
  std::string node;
  bool force = false;
};

Result<ExitStatus> Init(const InitOptions& options, Console& console) {
  const cluster::Home home = TRY(cluster::Home::OfUser());
  const int64_t wall_s = WallSeconds();
  const std::string name = options.node.empty() ? HostNodeName() : options.node;
  TRY(cluster::CheckNodeName(name).In("--node"));
  TRY(cluster::CheckNodeName(options.name).In("--name"));
  const cluster::Authority authority = TRY(cluster::MakeClusterAuthority(options.name, wall_s));
  const std::string key = TRY(net::MakePrivateKey());
  const std::string request = TRY(net::MakeRequest(key, name));
  const std::string certificate = TRY(cluster::CertifyNode(authority, request, name, wall_s));
  const cluster::Identity identity =
      TRY(cluster::MakeIdentity(authority.certificate, certificate, key, wall_s));
  TRY(home.Create(identity, authority, "", options.force, wall_s));
  console.Print("The cluster {} is made. This machine is its first node, {} ({}).\n",
                identity.cluster_name, identity.name, identity.node.ToText());
  console.Print("Its keys are in {}.\n", home.folder());
  console.Print(
      "With ca.key, any machine can be made a member of the cluster. Only this one has it.\n"
      "\n");
  console.Print("aster cluster invite    prints a code for another machine\n");
  console.Print("aster node              makes this one compute for the cluster\n");
  console.Print(
      "aster cluster authority export FILE\n"
      "                        keeps the key, encrypted, in case this machine is lost\n");
  return kExitOk;
}

Result<ExitStatus> Leave(bool force, Console& console) {
  const cluster::Home home = TRY(cluster::Home::OfUser());
  // A damaged home can also be removed.
  const Result<cluster::Identity> identity = home.LoadIdentity(WallSeconds());
  if (!identity.ok() && identity.error().code() == Code::kNotFound && !home.HasCluster())
    return identity.error();
  if (home.HasAuthority() && !force) {
    return FailedPrecondition(
        fmt::format("{}: the authority of the cluster is here; where no other machine has its "
                    "key, none can join or be revoked any more. `aster cluster authority export` "
                    "keeps it, --force removes it all the same",
                    home.folder()));
  }
  if (identity.ok() && !RunningNodeAddresses({home, *identity}).empty())
    return FailedPrecondition("`aster node` runs on this machine; end it first");
  TRY(home.Remove());
  if (!identity.ok()) {
    console.Print("Forgotten.\n");
    return kExitOk;
  }
  console.Print("This machine has left the cluster {}: its keys are removed.\n",
                identity->cluster_name);
  if (!force) {
    console.Print(
        "Copies of them would still be trusted. To revoke them, run on a machine that has the "
        "cluster's key:\n"
        "\n"
        "    aster cluster revoke {}\n",
        identity->name);
  }
  return kExitOk;
}

}  // namespace

Run DeclareClusterInit(CLI::App& app) {
  auto options = std::make_shared<InitOptions>();
  app.add_option("--name", options->name, "Name of the cluster (default: home)")->type_name("NAME");
  app.add_option("--node", options->node, "Name of this machine (default: its host name)")
      ->type_name("NAME");
  app.add_flag(
      "--force", options->force,
      "Make a cluster even if this machine belongs to one; the old one's folder is renamed");
  app.footer(
      "Makes the cluster's keys in the folder of this user's configuration, or $ASTER_CONFIG.\n"
      "  aster cluster init\n"
      "  aster cluster init --name attic --node desktop");
  return [options](Console& console) { return Init(*options, console); };
}

Run DeclareClusterLeave(CLI::App& app) {
  auto force = std::make_shared<bool>(false);
  app.add_flag("--force", *force, "Even if the cluster's authority is here; its key is removed");
  app.footer(
      "Removes this machine's keys. Other machines keep theirs.\n"
      "  aster cluster leave");
  return [force](Console& console) { return Leave(*force, console); };
}

}  // namespace aster::cli
