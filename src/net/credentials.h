// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How nodes prove that they belong to the same cluster, and their identities. Must not know where
// credentials are stored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "wire/messages.h"

namespace aster::net {

// Either the three texts in PEM, or a password.
struct Credentials {
  // The cluster's authority: a node with its certificate is admitted, with the NodeId of its public
  // key.
  std::string authority;
  std::string certificate;
  std::string key;
  // For a front end, which shares its machine's certificate with the node there: kInstanceBytes
  // random bytes, new in each process. Empty: the node itself.
  std::vector<uint8_t> instance;

  // On loopback only, for nodes that one process started: 32 random bytes that all were given, and
  // the name of this node.
  std::vector<uint8_t> password;
  wire::NodeId node;

  bool has_certificate() const { return !certificate.empty(); }
};

inline constexpr size_t kInstanceBytes = 16;

// The NodeId of a process that is not the node of its machine: the first 16 bytes of the SHA-256 of
// the machine's NodeId and of random bytes. No choice of bytes gives another node's NodeId.
wire::NodeId InstanceOf(const wire::NodeId& machine, Bytes instance);

}  // namespace aster::net
