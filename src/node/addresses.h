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
// the next port (on a free one each where the port is 0). Without a host, everywhere: IPv4, and
// IPv6 where the system has it.
struct ListenAddresses {
  std::vector<std::string> control;
  std::vector<std::string> data;
};
Result<ListenAddresses> ParseListen(const std::string& text);

// The addresses to announce, the best first, and no more than a record holds: those listened on. An
// "any" address stands for one of every interface of this machine, of the same family (loopback
// only if there is nothing else). With `advertise`, that host alone.
Result<std::vector<std::string>> ReachableAt(const std::vector<std::string>& listening,
                                             const std::string& advertise);

// For tests.
namespace addresses_internal {

struct InterfaceHost {
  std::string host;
  bool is_loopback = false;
};
std::vector<std::string> ChooseHosts(const std::vector<InterfaceHost>& hosts, bool v6);

}  // namespace addresses_internal

}  // namespace aster::node
