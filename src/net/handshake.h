// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether two nodes that say Hello to each other can talk. Every refusal names what both sides
// have. Must not know connections.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "net/credentials.h"
#include "wire/messages.h"

namespace aster::net {

// What a node says of itself, and what it takes.
struct Introduction {
  wire::NodeId node;
  std::string name;
  uint32_t arithmetic = 0;
  uint64_t max_frame_bytes = 0;
  uint64_t credit_bytes = 0;
  std::vector<uint8_t> password = {};  // empty where certificates say it
  std::vector<uint8_t> instance = {};  // of which `node` follows; empty: the certificate's own
};

wire::Hello MakeHello(const Introduction& self);

// The version of the protocol that both speak. `proven` is whom the certificate names (nothing
// without certificates), `expected` whom one wanted to talk to (nothing where the other side came).
// Afterwards hello.node is the other side's: the certificate's, or an instance of it.
Result<uint16_t> CheckHello(const Introduction& self, const wire::Hello& hello,
                            const std::optional<wire::NodeId>& proven,
                            const std::optional<wire::NodeId>& expected);

}  // namespace aster::net
