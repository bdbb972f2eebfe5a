// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster cluster show: this machine's files about its cluster. Asks no other machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/cluster/cluster_commands.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"
#include "cluster/word_lines.h"

namespace aster::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Known {
  OwnCluster own;
  net::CertificateInfo authority;
  net::CertificateInfo certificate;
  std::vector<cluster::KnownPeer> peers;  // without this node
  cluster::Revocations revoked;
  std::vector<std::string> seeds;
  size_t invitations = 0;
};

Result<Known> Load() {
  OwnCluster own = TRY(LoadOwnCluster());
  Known known{.own = std::move(own),
              .authority = {},
              .certificate = {},
              .peers = {},
              .revoked = {},
              .seeds = {}};
  const cluster::Home& home = known.own.home;
  const cluster::Identity& identity = known.own.identity;
  known.authority = TRY(net::DescribeCertificate(identity.ca_certificate));
  known.certificate = TRY(net::DescribeCertificate(identity.certificate));
  known.revoked = TRY(home.LoadRevocations(identity.ca_certificate));
  known.peers = TRY(home.LoadPeers());
  std::erase_if(known.peers, [&](const cluster::KnownPeer& peer) {
    return peer.node == identity.node || known.revoked.Contains(peer.node);
  });
  known.seeds = TRY(home.LoadSeeds());
  known.invitations = TRY(home.CountInvitations(WallSeconds()));
  return known;
}

std::string ToJson(const Known& known) {
  const cluster::Identity& identity = known.own.identity;
  Json json = {
      {"cluster",
       {{"name", identity.cluster_name},
        {"authority_sha256", cluster::ToHex(known.authority.sha256)},
        {"authority_here", known.own.home.HasAuthority()}}},
      {"node",
       {{"name", identity.name},
        {"id", identity.node.value.ToHex()},
        {"certificate_end_s", known.certificate.validity.end_s}}},
      {"folder", known.own.home.folder()},
      {"others", Json::array()},
      {"revoked", Json::array()},
      {"seeds", known.seeds},
      {"open_invitations", known.invitations},
  };
  for (const cluster::KnownPeer& peer : known.peers) {
    json["others"].push_back(
        {{"name", peer.name}, {"id", peer.node.value.ToHex()}, {"addresses", peer.addresses}});
  }
  for (const auto& [node, wall_s] : known.revoked.nodes())
    json["revoked"].push_back({{"id", node.value.ToHex()}, {"at_s", wall_s}});
  return json.dump(2) + "\n";
}

std::string ToText(const Known& known, Console& console) {
  const cluster::Identity& identity = known.own.identity;
  std::string text = fmt::format(
      "cluster    {}\n"
      "this node  {} ({}), until {}\n"
      "authority  {}\n"
      "folder     {}\n",
      console.Styled(Style::kBold, identity.cluster_name),
      console.Styled(Style::kBold, identity.name), identity.node.value.ToHex(),
      DayOf(known.certificate.validity.end_s),
      known.own.home.HasAuthority() ? "on this machine: it invites and revokes"
                                    : "on another machine",
      known.own.home.folder());
  if (known.invitations > 0)
    text += fmt::format("invited    {} may still join\n", known.invitations);
  Table table({Table::Align::kLeft, Table::Align::kLeft, Table::Align::kLeft});
  for (const cluster::KnownPeer& peer : known.peers) {
    table.AddRow({peer.name, peer.node.value.ToHex(),
                  peer.addresses.empty() ? "not seen yet"
                                         : fmt::format("{}", fmt::join(peer.addresses, ", "))});
  }
  if (!known.peers.empty())
    text +=
        "\n"
        "other nodes, and where they were last seen\n" +
        table.Render(2);
  if (known.peers.empty() && !known.seeds.empty())
    text += fmt::format("joined at  {}\n", known.seeds.front());
  if (!known.revoked.nodes().empty()) text += "\nrevoked\n";
  for (const auto& [node, wall_s] : known.revoked.nodes())
    text += fmt::format("  {}  {}\n", node.value.ToHex(), DayOf(wall_s));
  return text;
}

}  // namespace

Run DeclareClusterShow(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "Print one JSON document");
  app.footer(
      "Reads only this machine's files; `aster cluster status` asks the nodes.\n"
      "  aster cluster show\n"
      "  aster cluster show --json");
  return [json](Console& console) -> Result<ExitStatus> {
    const Known known = TRY(Load());
    console.Write(*json ? ToJson(known) : ToText(known, console));
    return kExitOk;
  };
}

}  // namespace aster::cli
