// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// An invitation to the cluster of this machine, and the command for the machine that joins. Must
// not know who answers that machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/cluster/cluster_commands.h"
#include "cluster/invite_code.h"

namespace aster::cli {

struct OpenInvitation {
  OwnCluster own;
  cluster::InviteCode code;
  int64_t end_wall_s = 0;
  std::vector<std::string> addresses;  // of this machine, the best first
  bool is_answered = false;            // by a node, or by this process
};

// Lets one machine join with the code. Needs the authority's key.
Result<OpenInvitation> Invite(OwnCluster own, int64_t minutes, std::vector<std::string> addresses,
                              bool is_answered);

// "aster cluster join CODE HOST".
std::string JoinCommand(const OpenInvitation& invitation);
// HOST:PORT; without the port if it is the usual one of nodes.
std::string WithoutUsualPort(const std::string& address);
std::string InvitationJson(const OpenInvitation& invitation);

}  // namespace aster::cli
