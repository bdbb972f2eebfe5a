// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster cluster revoke: removes a node's membership, everywhere in the cluster.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "cli/cluster/cluster_commands.h"
#include "cli/terminal/console.h"
#include "cluster/word_lines.h"

namespace aster::cli {
namespace {

constexpr size_t kDigits = 32;

bool IsHex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<ExitStatus> Revoke(const std::string& text, Console& console) {
  const OwnCluster own = TRY(LoadOwnCluster());
  const ChosenNode chosen = TRY(RevokeNode(own, text));
  const std::string name = chosen.name.empty() ? "" : chosen.name + " ";
  console.Print("Node {}({}) is revoked.\n", name, chosen.node.ToText());
  if (RunningNodeAddresses(own).empty()) {
    console.Print("Other nodes are told when `aster node` runs on this machine.\n");
  } else {
    console.Print("The node on this machine tells the other nodes within seconds.\n");
  }
  return kExitOk;
}

}  // namespace

Result<ChosenNode> ChooseNode(const std::vector<cluster::KnownPeer>& peers,
                              const std::string& text) {
  std::vector<ChosenNode> found;
  for (const cluster::KnownPeer& peer : peers) {
    if (IsMeant(text, peer.name, peer.node)) found.push_back({peer.node, peer.name});
  }
  if (found.size() == 1) return found.front();
  if (found.empty() && text.size() == kDigits && IsHex(text))
    return ChosenNode{cluster::NodeId{TRY(cluster::ParseHash(text))}, ""};
  std::string names;
  for (const cluster::KnownPeer& peer : peers)
    names +=
        fmt::format("{}{} ({})", names.empty() ? "" : ", ", peer.name, peer.node.value.ToHex());
  if (found.empty()) {
    return NotFound(fmt::format(
        "{}: no node of that name or id is known here; {}. The 32 digits of an id are always taken",
        text, names.empty() ? "there is no other" : "there are " + names));
  }
  return InvalidArgument(fmt::format("{}: there are several; name one by its id: {}", text, names));
}

Result<ChosenNode> RevokeNode(const OwnCluster& own, const std::string& text) {
  if (text == own.identity.name || text == own.identity.node.value.ToHex()) {
    return InvalidArgument(
        fmt::format("{} is this machine; `aster cluster leave` leaves the cluster", text));
  }
  TRY(own.home.LoadAuthority());
  std::vector<cluster::KnownPeer> peers = TRY(own.home.LoadPeers());
  std::erase_if(peers, [&](const auto& peer) { return peer.node == own.identity.node; });
  ChosenNode chosen = TRY(ChooseNode(peers, text));
  if (chosen.node == own.identity.node) return InvalidArgument(text + " is this machine");
  TRY(own.home.Revoke(chosen.node, WallSeconds()).In(text));
  // Removes it from the list, and frees its name.
  TRY(own.home.StorePeers({}));
  return chosen;
}

Run DeclareClusterRevoke(CLI::App& app) {
  auto text = std::make_shared<std::string>();
  app.add_option("NODE", *text, "Name or id of the node; eight digits of the id are enough")
      ->required()
      ->type_name("");
  app.footer(
      "Run it on the machine where the cluster was made, or on another that has its key. A "
      "revocation is final: to return, the machine has to join again, with a new key.\n"
      "  aster cluster revoke laptop");
  return [text](Console& console) { return Revoke(*text, console); };
}

}  // namespace aster::cli
