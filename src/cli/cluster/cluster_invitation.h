// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// An invitation to the cluster of this machine, and what is typed on the machine that joins. Must
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
  std::vector<std::string> addresses;  // where this machine can be reached, the best first
  bool is_answered = false;            // by a node, or by this process
};

// From now on one machine may join with the code. Only where the authority's key is.
Result<OpenInvitation> Invite(OwnCluster own, int64_t minutes, std::vector<std::string> addresses,
                              bool is_answered);

// "aster cluster join CODE HOST".
std::string JoinCommand(const OpenInvitation& invitation);
// HOST:PORT without the port that nodes usually have.
std::string WithoutUsualPort(const std::string& address);
std::string InvitationJson(const OpenInvitation& invitation);

}  // namespace aster::cli
