// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A node's identity: its name, its key, and the authority that certifies it. Must not know where
// these are stored (home.h) nor who else is in the cluster.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/member.h"

namespace aster::cluster {

// All in PEM. The key never leaves the machine.
struct Identity {
  std::string cluster_name;
  std::string ca_certificate;
  std::string name;  // of the node
  NodeId node;
  std::string certificate;
  std::string key;
};

// Makes certificates: where the cluster was made, and on machines that the owner chose.
struct Authority {
  std::string certificate;
  std::string key;
};

inline constexpr int64_t kNodeYears = 10;
inline constexpr int64_t kAuthorityYears = 20;

Result<Authority> MakeClusterAuthority(std::string_view cluster_name, int64_t wall_s);
// For a joining node: as any node's name, and not a word with a special meaning where commands name
// nodes.
Status CheckNewNodeName(std::string_view name);
// A certificate for the owner of the request's key.
Result<std::string> CertifyNode(const Authority& authority, std::string_view request,
                                std::string_view name, int64_t wall_s);
// Puts an identity together, and checks that its parts match.
Result<Identity> MakeIdentity(std::string ca_certificate, std::string certificate, std::string key,
                              int64_t wall_s);

}  // namespace aster::cluster
