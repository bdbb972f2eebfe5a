// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster cluster join: this machine becomes a node of an existing cluster.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/clock.h"
#include "cli/cluster/cluster_commands.h"
#include "cli/terminal/console.h"
#include "cluster/join.h"
#include "discovery/seeker.h"
#include "node/addresses.h"
#include "rpc/control_client.h"

namespace aster::cli {
namespace {

constexpr int64_t kJoinPatienceNs = 20 * kNsPerSecond;
// A lost question is repeated after a second, and after two more.
constexpr int64_t kSeekNs = 6 * kNsPerSecond;
// Waits for another answer if the first machine refused.
constexpr int64_t kSeekMoreNs = 1 * kNsPerSecond;

struct ClusterJoinFlags {
  std::string code;
  std::string host;
  std::string name;
  bool force = false;
};

// Adds what to do if the other machine could not be reached.
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

struct JoinedCluster {
  cluster::JoinReply reply;
  cluster::Identity identity;
  std::string address;
};

Result<JoinedCluster> JoinAt(const std::string& address, const cluster::Joining& joining) {
  const auto client = TRY(rpc::ControlClient::Make(
      {.identity = std::nullopt, .address = address, .expect = std::nullopt}));
  Result<cluster::JoinReply> reply = client->Join(joining.request(), kJoinPatienceNs);
  if (!reply.ok()) return Explained(reply.error(), address);
  cluster::Identity identity = TRY(joining.Finish(*reply, WallSeconds()).In(address));
  return JoinedCluster{*std::move(reply), std::move(identity), address};
}

// Tries each address that claims to have the invitation, until one has it: its reply proves that.
Result<JoinedCluster> JoinWhereFound(const cluster::InviteCode& code,
                                     const cluster::Joining& joining, Console& console) {
  const auto port = TRY(discovery::PortFromEnvironment());
  if (!port) {
    return InvalidArgument("the address of the inviting machine is needed: ASTER_DISCOVERY is off");
  }
  SystemClock clock;
  const auto seeker =
      TRY(discovery::Seeker::Start(discovery::InvitationLabel(code.Secret()), *port, clock));
  console.Note("looking for the inviting machine on this network");
  std::optional<Error> why;
  int64_t deadline_ns = clock.NowNs() + kSeekNs;
  while (const auto address = seeker->Next(deadline_ns)) {
    Result<JoinedCluster> joined = JoinAt(*address, joining);
    if (joined.ok()) return joined;
    why = why ? Error(why->code(), why->message() + "\n  " + joined.error().message())
              : joined.error();
    deadline_ns = clock.NowNs() + kSeekMoreNs;
  }
  if (why) return *why;
  return Error(Code::kUnavailable,
               "no machine of this network has that invitation: it was used or has expired; or "
               "neither `aster node` nor `aster cluster invite --wait` runs where it was made; or "
               "multicast does not get through from there. Give that machine's address: aster "
               "cluster join CODE HOST");
}

Result<ExitStatus> Join(const ClusterJoinFlags& options, Console& console) {
  const cluster::Home home = TRY(cluster::Home::OfUser());
  const cluster::InviteCode code = TRY(cluster::InviteCode::Parse(options.code));
  std::string address;
  if (!options.host.empty())
    address = TRY(cluster::ParseHostPort(options.host, node::kDefaultPort)).ToText();
  // Checked first, so that the code is not used up for nothing.
  if (home.HasCluster() && !options.force) return home.RefuseSecondCluster();
  const std::string name = options.name.empty() ? HostNodeName() : options.name;
  const cluster::Joining joining =
      TRY(cluster::Joining::Begin(code, name, WallSeconds()).In("--name"));
  const JoinedCluster joined =
      TRY(address.empty() ? JoinWhereFound(code, joining, console) : JoinAt(address, joining));
  const cluster::Identity& identity = joined.identity;
  TRY(home.Create(identity, std::nullopt, joined.reply.revocations, options.force, WallSeconds())
          .In("the code is used up; ask for another one when this is repaired"));
  TRY(home.AddSeed(joined.address));
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
         fmt::format("The other machine, with its port if that is not {} (default: the one of this "
                     "network that has the invitation)",
                     node::kDefaultPort))
      ->type_name("");
  app.add_option("--name", options->name, "Name of this machine (default: its host name)")
      ->type_name("NAME");
  app.add_flag(
      "--force", options->force,
      "Join even if this machine belongs to a cluster; the old cluster's folder is renamed");
  app.footer(
      "The code proves both machines to each other, and is not sent over the network in any form.\n"
      "  aster cluster join K7QMP-2XRWD-9TJBH-4FNCE\n"
      "  aster cluster join K7QMP-2XRWD-9TJBH-4FNCE desktop\n"
      "  aster cluster join K7QMP-2XRWD-9TJBH-4FNCE 192.168.0.7:7424 --name laptop");
  return [options](Console& console) { return Join(*options, console); };
}

}  // namespace aster::cli
