// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Announces by multicast DNS that a node of a cluster is here, and that an invitation is open,
// without the names of either. Must not know how received announcements are used.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cluster/home.h"
#include "cluster/identity.h"
#include "discovery/discovery.h"

namespace aster::node {

struct AnnounceOptions {
  uint16_t port = discovery::kUsualPort;
  std::vector<std::string> listening;  // HOST:PORT of the control plane
  // Called on a thread with the HOST:PORT of each node found. If set, the cluster is announced and
  // its nodes are looked for; if not, only joining machines get replies.
  std::function<void(const std::string& address)> on_found;
};

// Home and clock outlive it.
Result<std::unique_ptr<discovery::Discovery>> Announce(const cluster::Home& home,
                                                       const cluster::Identity& identity,
                                                       AnnounceOptions options, Clock& clock);

}  // namespace aster::node
