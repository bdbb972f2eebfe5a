// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster cluster drain: a node that gets no layers, so that it may be switched off.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/cluster/cluster_commands.h"
#include "cli/terminal/console.h"
#include "cli/terminal/interrupt.h"
#include "cluster/drain_order.h"
#include "node/call_member.h"
#include "open/node_pool.h"

namespace aster::cli {
namespace {

constexpr int64_t kAgainNs = 200 * kNsPerMs;

struct DrainFlags {
  std::string node;
  std::string wait = "1min";
  bool undo = false;
  bool json = false;
  std::vector<std::string> via;
};

// Without a name, this machine's node.
Result<cluster::Member> FindMember(const std::vector<cluster::Member>& members,
                                   const DrainFlags& flags, const cluster::Identity& self) {
  std::vector<cluster::KnownPeer> peers;
  for (const cluster::Member& member : members)
    peers.push_back({member.node, member.name, member.control_addresses});
  const cluster::NodeId node =
      flags.node.empty() ? self.node : TRY(ChooseNode(peers, flags.node)).node;
  for (const cluster::Member& member : members) {
    if (member.node == node) return member;
  }
  return NotFound(flags.node.empty()
                      ? "no `aster node` of this machine is in the cluster: name the node to drain"
                      : fmt::format("{}: no such node is in the cluster now", flags.node));
}

std::string Describe(const cluster::Member& member) {
  return fmt::format("{} ({})", ForDisplay(member.name), member.node.ToText());
}

Status Order(const OwnCluster& own, const cluster::Member& member, bool is_drained) {
  rpc::DrainRequest request{.is_drained = is_drained, .signature = {}};
  if (member.node != own.identity.node && own.home.HasAuthority()) {
    const cluster::Authority authority = TRY(own.home.LoadAuthority());
    request.signature = TRY(cluster::SignDrainOrder(member.node, is_drained, authority.key));
  }
  return node::CallMember(own.identity, member,
                          [&](rpc::ControlClient& client) { return client.Drain(request); });
}

// The number of front ends that have not left it, once that is 0 or the wait is over.
Result<uint32_t> AwaitLeaving(const OwnCluster& own, const cluster::Member& member,
                              int64_t wait_ns) {
  SystemClock clock;
  const int64_t deadline_ns = clock.NowNs() + wait_ns;
  const InterruptGuard guard;
  for (;;) {
    const cluster::NodeStatus status = TRY(node::CallMember(
        own.identity, member, [](rpc::ControlClient& client) { return client.GetStatus(); }));
    if (!status.is_drained) {
      return Error(Code::kAborted,
                   fmt::format("{} was put into use again meanwhile, or has started again",
                               Describe(member)));
    }
    const bool goes_on = clock.NowNs() < deadline_ns && !InterruptGuard::Interrupted();
    if (status.leaving == 0 || !goes_on) return status.leaving;
    clock.SleepFor(kAgainNs);
  }
}

std::string JsonOf(const cluster::Member& member, bool is_drained, uint32_t leaving) {
  const nlohmann::ordered_json json = {{"node", member.node.value.ToHex()},
                                       {"name", member.name},
                                       {"drained", is_drained},
                                       {"leaving", leaving}};
  return json.dump() + "\n";
}

Result<ExitStatus> Drain(const DrainFlags& flags, Console& console) {
  const int64_t wait_ns = TRY(ParseDuration(flags.wait).In("--wait"));
  const OwnCluster own = TRY(LoadOwnCluster());
  const auto view = TRY(open::ViewOfCluster(flags.via));
  const cluster::Member member = TRY(FindMember(view->members(), flags, own.identity));
  TRY(Order(own, member, !flags.undo).In(Describe(member)));
  if (flags.undo) {
    if (flags.json) {
      console.Write(JsonOf(member, false, 0));
    } else {
      console.Print("Node {} is used again.\n", Describe(member));
    }
    return kExitOk;
  }
  const uint32_t leaving = TRY(AwaitLeaving(own, member, wait_ns));
  if (flags.json) {
    console.Write(JsonOf(member, true, leaving));
  } else if (leaving == 0) {
    console.Print(
        "Node {} is drained: nothing is computed on it, and it may be switched off. It is used "
        "again when its `aster node` starts, or by\n\n    aster cluster drain {} --undo\n",
        Describe(member), ForDisplay(member.name));
  }
  if (leaving == 0) return kExitOk;
  console.Complain(
      "warning",
      fmt::format("{} gets no new work, but {} still {} layers or a KV cache there: a command that "
                  "has not ended, or a server whose other nodes cannot take over (its log says "
                  "why). Run this again to wait longer, or use the node again with --undo",
                  Describe(member),
                  leaving == 1 ? "a front end" : fmt::format("{} front ends", leaving),
                  leaving == 1 ? "has" : "have"));
  return InterruptGuard::Interrupted() ? kExitInterrupted : kExitNo;
}

}  // namespace

Run DeclareClusterDrain(CLI::App& app) {
  auto flags = std::make_shared<DrainFlags>();
  app.add_option("NODE", flags->node,
                 "Name or id of the node; eight digits of the id are enough (default: the node of "
                 "this machine)")
      ->type_name("");
  app.add_flag("--undo", flags->undo, "Use the node again");
  app.add_option("--wait", flags->wait, "Time for front ends to leave the node")
      ->type_name("DURATION");
  app.add_flag("--json", flags->json, "Print one JSON document");
  app.add_option("--via", flags->via,
                 "Address of a node that knows the others (default: the nodes that were seen "
                 "before). Repeatable")
      ->type_name("HOST:PORT");
  app.footer(
      "Run it on the node's own machine, or on one that has the cluster's key. New work goes to "
      "other nodes; servers move layers and kept conversations to these within seconds, and the "
      "command waits for that.\n"
      "  aster cluster drain laptop\n"
      "  aster cluster drain laptop --undo");
  return [flags](Console& console) { return Drain(*flags, console); };
}

}  // namespace aster::cli
