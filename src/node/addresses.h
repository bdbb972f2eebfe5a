// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Where others can reach a node that listens. Must not know what is said there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace aster::node {

inline constexpr uint16_t kDefaultPort = 7424;

// What to listen on, of "HOST:PORT", "HOST" or ":PORT": the control plane there, the data plane on
// the next port (on a free one each where the port is 0).
struct ListenAddresses {
  std::string control;
  std::string data;
};
Result<ListenAddresses> ParseListen(const std::string& text);

// What to tell others, of an address that was listened on: itself, or, where that was "any", one of
// every interface of this machine (of loopback only where there is nothing else). With `advertise`,
// that host alone.
Result<std::vector<std::string>> ReachableAt(const std::string& listening,
                                             const std::string& advertise);

}  // namespace aster::node
