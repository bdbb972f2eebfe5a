// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How nodes prove to each other that they belong together, and under which names. Must not know
// where it is kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "wire/messages.h"

namespace aster::net {

// Either the three texts in PEM, or a password.
struct Credentials {
  // The cluster's authority: a node with a certificate by it is admitted, under the NodeId of its
  // public key.
  std::string authority;
  std::string certificate;
  std::string key;
  // Of a front end, which uses its machine's certificate beside the node there: kInstanceBytes
  // random bytes, anew for each process. Empty: the node itself.
  std::vector<uint8_t> instance;

  // On loopback only, for nodes that were started together: 32 random bytes that all were given,
  // and the name by which this one goes.
  std::vector<uint8_t> password;
  wire::NodeId node;

  bool has_certificate() const { return !certificate.empty(); }
};

inline constexpr size_t kInstanceBytes = 16;

// The NodeId of a process that is not the node of its machine: the first 16 bytes of the SHA-256 of
// the machine's NodeId and of random bytes. No choice of bytes makes it another node's.
wire::NodeId InstanceOf(const wire::NodeId& machine, Bytes instance);

}  // namespace aster::net
