// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Who a node is: its name, its key, and the authority that vouches for it. Must not know where
// these are kept (home.h) nor who else is in the cluster.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/member.h"

namespace aster::cluster {

// All in PEM. The key leaves the machine never.
struct Identity {
  std::string cluster_name;
  std::string ca_certificate;
  std::string name;  // of the node
  NodeId node;
  std::string certificate;
  std::string key;
};

// What makes certificates: where the cluster was made, and on machines that the owner chose.
struct Authority {
  std::string certificate;
  std::string key;
};

inline constexpr int64_t kNodeYears = 10;
inline constexpr int64_t kAuthorityYears = 20;

Result<Authority> MakeClusterAuthority(std::string_view cluster_name, int64_t wall_s);
// Of a node that comes in: as any node's, and none of the words that stand for something else where
// commands name nodes.
Status CheckNewNodeName(std::string_view name);
// A certificate for the owner of the request's key.
Result<std::string> CertifyNode(const Authority& authority, std::string_view request,
                                std::string_view name, int64_t wall_s);
// Puts together what belongs together, and checks that it does.
Result<Identity> MakeIdentity(std::string ca_certificate, std::string certificate, std::string key,
                              int64_t wall_s);

}  // namespace aster::cluster
