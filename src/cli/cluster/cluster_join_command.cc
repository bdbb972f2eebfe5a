// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster cluster join: this machine becomes a node of a cluster that was made elsewhere.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/clock.h"
#include "cli/cluster/cluster_commands.h"
#include "cli/terminal/console.h"
#include "cluster/join.h"
#include "node/addresses.h"
#include "rpc/control_client.h"

namespace aster::cli {
namespace {

constexpr int64_t kJoinPatienceNs = 20 * kNsPerSecond;

struct ClusterJoinFlags {
  std::string code;
  std::string host;
  std::string name;
  bool force = false;
};

// What to do next, where the other machine could not be asked.
Error Explained(Error error, const std::string& address) {
  const bool is_away =
      error.code() == Code::kUnavailable || error.code() == Code::kDeadlineExceeded;
  const bool says_where = error.message().starts_with(address);
  Error with_place = says_where ? std::move(error) : std::move(error).In(address);
  if (!is_away) return with_place;
  return {with_place.code(),
          with_place.message() +
              "; is `aster node` or `aster cluster invite --wait` running there, and does its "
              "firewall let this machine through?"};
}

Result<ExitStatus> Join(const ClusterJoinFlags& options, Console& console) {
  const cluster::Home home = TRY(cluster::Home::OfUser());
  const cluster::InviteCode code = TRY(cluster::InviteCode::Parse(options.code));
  const std::string address =
      TRY(cluster::ParseHostPort(options.host, node::kDefaultPort)).ToText();
  // Before anything is asked: a code that is used up for nothing is a nuisance.
  if (home.HasCluster() && !options.force) return home.RefuseSecondCluster();
  const std::string name = options.name.empty() ? HostNodeName() : options.name;
  const cluster::Joining joining =
      TRY(cluster::Joining::Begin(code, name, WallSeconds()).In("--name"));
  const auto client = TRY(rpc::ControlClient::Make(
      {.identity = std::nullopt, .address = address, .expect = std::nullopt}));
  const Result<cluster::JoinReply> reply = client->Join(joining.request(), kJoinPatienceNs);
  if (!reply.ok()) return Explained(reply.error(), address);
  const int64_t wall_s = WallSeconds();
  const cluster::Identity identity = TRY(joining.Finish(*reply, wall_s).In(address));
  TRY(home.Create(identity, std::nullopt, reply->revocations, options.force, wall_s)
          .In("the code is used up; ask for another one when this is repaired"));
  TRY(home.AddSeed(address));
  console.Print("This machine is now the node {} ({}) of the cluster {}.\n\n", identity.name,
                identity.node.ToText(), identity.cluster_name);
  console.Print("aster node              makes it compute for the cluster\n");
  console.Print("aster cluster show      lists its nodes\n");
  return kExitOk;
}

}  // namespace

Run DeclareClusterJoin(CLI::App& app) {
  auto options = std::make_shared<ClusterJoinFlags>();
  app.add_option("CODE", options->code,
                 "Code that `aster cluster invite` printed on the other machine")
      ->required()
      ->type_name("");
  app.add_option(
         "HOST", options->host,
         fmt::format("The other machine, with its port if that is not {}", node::kDefaultPort))
      ->required()
      ->type_name("");
  app.add_option("--name", options->name, "Name of this machine (default: its host name)")
      ->type_name("NAME");
  app.add_flag("--force", options->force,
               "Even if this machine belongs to a cluster; its folder is renamed");
  app.footer(
      "The code proves both machines to each other, and is not sent over the network in any form.\n"
      "  aster cluster join K7QMP-2XRWD-9TJBH-4FNCE desktop\n"
      "  aster cluster join K7QMP-2XRWD-9TJBH-4FNCE 192.168.0.7:7424 --name laptop");
  return [options](Console& console) { return Join(*options, console); };
}

}  // namespace aster::cli
