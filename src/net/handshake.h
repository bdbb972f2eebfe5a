// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether two nodes can communicate, by their Hello. Every refusal names the values of both sides.
// Must not know connections.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "net/credentials.h"
#include "wire/messages.h"

namespace aster::net {

// A node's properties and limits.
struct Introduction {
  wire::NodeId node;
  std::string name;
  uint32_t arithmetic = 0;
  uint64_t max_frame_bytes = 0;
  uint64_t credit_bytes = 0;
  std::vector<uint8_t> password = {};  // empty with certificates
  std::vector<uint8_t> instance = {};  // `node` follows from it; empty: from the certificate
};

wire::Hello MakeHello(const Introduction& self);

// The protocol version that both speak. `proven` is the certificate's node (nullopt without
// certificates), `expected` the node to be reached (nullopt for incoming connections). Afterwards
// hello.node is the peer's: the certificate's, or an instance of it.
Result<uint16_t> CheckHello(const Introduction& self, const wire::Hello& hello,
                            const std::optional<wire::NodeId>& proven,
                            const std::optional<wire::NodeId>& expected);

}  // namespace aster::net
