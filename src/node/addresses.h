// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Where other machines can reach a node that listens. Must not know what is said there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace aster::node {

inline constexpr uint16_t kDefaultPort = 7424;

// The addresses to listen on, from "HOST:PORT", "HOST" or ":PORT": the control plane on that port,
// the data plane on the next one (port 0: a free one for each). Without a host: on all addresses of
// IPv4, and of IPv6 if the system has it.
struct ListenAddresses {
  std::vector<std::string> control;
  std::vector<std::string> data;
};
Result<ListenAddresses> ParseListen(const std::string& text);

// The addresses to announce, the best first, no more than a record holds. An "any" address is
// replaced by those of this machine's interfaces of the same family (loopback only if there is no
// other). With `advertise`, only that host.
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
