// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/announce.h"

#include <utility>

namespace aster::node {

Result<std::unique_ptr<discovery::Discovery>> Announce(const cluster::Home& home,
                                                       const cluster::Identity& identity,
                                                       AnnounceOptions options, Clock& clock) {
  discovery::DiscoveryOptions found;
  found.port = options.port;
  found.listening = std::move(options.listening);
  if (options.on_found) {
    found.offers = {discovery::ClusterLabel(identity.ca_certificate)};
    found.wanted = found.offers;
    found.on_found = std::move(options.on_found);
  }
  // Checked each time: the machine may get the authority's key, and with it invitations, later.
  found.hidden = [&home, &clock] {
    std::vector<std::string> labels;
    const auto open = home.LoadInvitations(clock.WallNs() / kNsPerSecond);
    if (!open.ok()) return labels;
    for (const cluster::Invitation& invitation : *open)
      labels.push_back(discovery::InvitationLabel(invitation.secret));
    return labels;
  };
  return discovery::Discovery::Start(std::move(found), clock);
}

}  // namespace aster::node
