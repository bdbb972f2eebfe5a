// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster cluster invite: a code that admits one machine, and, with --wait, the service that answers
// that machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <set>
#include <string>

#include "base/clock.h"
#include "cli/cluster/cluster_commands.h"
#include "cli/cluster/cluster_invitation.h"
#include "cli/terminal/console.h"
#include "cli/terminal/interrupt.h"
#include "cluster/join.h"
#include "discovery/discovery.h"
#include "node/addresses.h"
#include "node/announce.h"
#include "rpc/control_server.h"

namespace aster::cli {
namespace {

constexpr int64_t kMostMinutes = 7 * 24 * 60;
// Between two checks of the invitation.
constexpr int64_t kLookNs = 100 * kNsPerMs;
// From admitting a machine to the end: its reply is still being sent.
constexpr int64_t kLingerNs = 1 * kNsPerSecond;

struct ClusterInviteFlags {
  int64_t minutes = 10;
  bool wait = false;
  bool json = false;
  std::string listen = ":7424";
};

// Answers only requests to join.
class InviteService final : public rpc::ControlService {
 public:
  InviteService(const cluster::Home& home, const Clock& clock) : admission_(home, clock) {}

  Status Admit(const rpc::NodeId& /*from*/) override { return Nothing(); }
  Result<cluster::JoinReply> Join(const cluster::JoinRequest& request) override {
    return admission_.Admit(request);
  }
  Result<rpc::Gossip> Exchange(const rpc::NodeId& /*from*/, const rpc::Gossip& /*said*/) override {
    return Nothing();
  }
  Result<cluster::Description> Describe() override { return Nothing(); }
  Result<cluster::NodeStatus> GetStatus() override { return Nothing(); }
  Result<rpc::ModelManifest> FetchManifest(const Hash128& /*fingerprint*/) override {
    return Nothing();
  }
  Status FetchTensor(const Hash128& /*fingerprint*/, std::string_view /*tensor*/,
                     uint64_t /*offset*/, const rpc::ByteSink& /*sink*/) override {
    return Nothing();
  }

 private:
  static Error Nothing() {
    return {Code::kUnavailable,
            "no node runs here, but a command that waits for a machine to join"};
  }

  cluster::Admission admission_;
};

void PrintText(const OpenInvitation& open, const ClusterInviteFlags& options, Console& console) {
  console.Print(
      "Within {} minute{}, one machine may join the cluster {}. Run there:\n"
      "\n",
      options.minutes, options.minutes == 1 ? "" : "s", open.own.identity.cluster_name);
  console.Print("    {}\n\n", console.Styled(Style::kBold, JoinCommand(open)));
  if (open.addresses.size() > 1) {
    std::string others;
    for (size_t i = 1; i < open.addresses.size(); ++i)
      others += (i > 1 ? ", " : "") + WithoutUsualPort(open.addresses[i]);
    console.Print("This machine is also at {}.\n", others);
  }
  console.Print("On the same network, the address may be left out.\n");
  console.Print("Any machine with the code can join: keep it secret.\n");
  if (!open.is_answered) {
    console.Print(
        "No node runs on this machine to answer. Start one with `aster node`, or use `aster "
        "cluster invite --wait`.\n");
  }
}

std::set<std::string> NamesOfOthers(const cluster::Home& home) {
  std::set<std::string> names;
  const auto peers = home.LoadPeers();
  if (!peers.ok()) return names;
  for (const cluster::KnownPeer& peer : *peers) names.insert(peer.name);
  return names;
}

// Prints the node that joined, or that none did.
Result<ExitStatus> Await(const OpenInvitation& open, const std::set<std::string>& before,
                         Console& console) {
  SystemClock clock;
  const InterruptGuard guard;
  const cluster::Home& home = open.own.home;
  while (home.FindInvitation(open.code.Id(), WallSeconds()).ok()) {
    if (InterruptGuard::Interrupted()) {
      TRY(home.TakeInvitation(open.code.Id(), WallSeconds()));
      console.Note("the code is void");
      return kExitInterrupted;
    }
    clock.SleepFor(kLookNs);
  }
  clock.SleepFor(kLingerNs);
  for (const std::string& name : NamesOfOthers(home)) {
    if (before.contains(name)) continue;
    // Standard output has the command to type, or the JSON document.
    console.Note(fmt::format("{} has joined the cluster {}", name, open.own.identity.cluster_name));
    return kExitOk;
  }
  console.Complain("error", WallSeconds() >= open.end_wall_s
                                ? "no machine has joined in time; the code is void"
                                : "wrong codes were tried; this one is void");
  return kExitNo;
}

Result<ExitStatus> Invite(const ClusterInviteFlags& options, Console& console) {
  SystemClock clock;
  const OwnCluster own = TRY(LoadOwnCluster());
  TRY(own.home.LoadAuthority());
  std::vector<std::string> addresses = RunningNodeAddresses(own);
  const bool has_node = !addresses.empty();
  InviteService service(own.home, clock);
  std::unique_ptr<rpc::ControlServer> server;
  std::unique_ptr<discovery::Discovery> discovery;
  if (!has_node) {
    addresses = TRY(node::ParseListen(options.listen).In("--listen")).control;
    if (options.wait) {
      server = TRY(rpc::ControlServer::Start({own.identity, addresses}, service));
      addresses = server->addresses();
      if (const auto port = TRY(discovery::PortFromEnvironment())) {
        discovery =
            TRY(node::Announce(own.home, own.identity,
                               {.port = *port, .listening = addresses, .on_found = {}}, clock));
      }
    }
    addresses = TRY(node::ReachableAt(addresses, ""));
  }
  const std::set<std::string> before = NamesOfOthers(own.home);
  const OpenInvitation open =
      TRY(Invite(own, options.minutes, std::move(addresses), has_node || options.wait));
  if (options.json) {
    console.Write(InvitationJson(open));
  } else {
    PrintText(open, options, console);
  }
  TRY(console.Flush());
  if (!options.wait) return kExitOk;
  return Await(open, before, console);
}

}  // namespace

Run DeclareClusterInvite(CLI::App& app) {
  auto options = std::make_shared<ClusterInviteFlags>();
  app.add_option("--minutes", options->minutes, "Minutes for which the code is valid (default: 10)")
      ->check(CLI::Range(int64_t{1}, kMostMinutes))
      ->type_name("N");
  app.add_flag("--wait", options->wait,
               "Wait until a machine has joined, and answer it if no node runs here");
  app.add_option("--listen", options->listen,
                 "With --wait, if no node runs here: address to listen on (default: every "
                 "interface, port 7424)")
      ->type_name("HOST[:PORT]");
  app.add_flag("--json", options->json, "Print one JSON document");
  app.footer(
      "Run it on the machine where the cluster was made, or on another that has its key. The code "
      "admits one machine,\n"
      "and is void after five wrong attempts.\n"
      "  aster cluster invite --wait\n"
      "  aster cluster invite --minutes 60");
  return [options](Console& console) { return Invite(*options, console); };
}

}  // namespace aster::cli
