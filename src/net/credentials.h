// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How nodes prove to each other that they belong together. Must not know where it is kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/messages.h"

namespace aster::net {

// Either the three texts in PEM, or a password.
struct Credentials {
  // Of the cluster: who has a certificate by it is let in, under the NodeId of its public key.
  std::string authority;
  std::string certificate;
  std::string key;

  // On loopback only, for nodes that were started together: 32 random bytes that all were given,
  // and the name by which this one goes.
  std::vector<uint8_t> password;
  wire::NodeId node;

  bool has_certificate() const { return !certificate.empty(); }
};

}  // namespace aster::net
