// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/cluster/cluster_invitation.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "node/addresses.h"

namespace aster::cli {

Result<OpenInvitation> Invite(OwnCluster own, int64_t minutes, std::vector<std::string> addresses,
                              bool is_answered) {
  TRY(own.home.LoadAuthority());
  const int64_t wall_s = WallSeconds();
  OpenInvitation invitation{.own = std::move(own),
                            .code = TRY(cluster::InviteCode::Draw()),
                            .end_wall_s = wall_s + minutes * 60,
                            .addresses = std::move(addresses),
                            .is_answered = is_answered};
  TRY(invitation.own.home.AddInvitation(invitation.code, invitation.end_wall_s, wall_s));
  return invitation;
}

std::string WithoutUsualPort(const std::string& address) {
  const Result<cluster::HostPort> parsed = cluster::ParseHostPort(address);
  if (!parsed.ok() || parsed->port != node::kDefaultPort) return address;
  return parsed->host;
}

std::string JoinCommand(const OpenInvitation& invitation) {
  const std::vector<std::string>& addresses = invitation.addresses;
  return fmt::format("aster cluster join {} {}", invitation.code.ToText(),
                     addresses.empty() ? "HOST" : WithoutUsualPort(addresses.front()));
}

std::string InvitationJson(const OpenInvitation& invitation) {
  const nlohmann::ordered_json json = {
      {"code", invitation.code.ToText()},   {"id", invitation.code.Id()},
      {"end_s", invitation.end_wall_s},     {"addresses", invitation.addresses},
      {"answered", invitation.is_answered}, {"command", JoinCommand(invitation)}};
  return json.dump(2) + "\n";
}

}  // namespace aster::cli
