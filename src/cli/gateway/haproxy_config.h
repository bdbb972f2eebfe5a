// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The configuration of HAProxy 2.6 or newer for a gateway (load balancer) in front of several
// servers. Must not know options of a command line: its input has been checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aster::cli {

struct GatewayServer {
  std::string name;
  std::string address;           // HOST:PORT
  std::string certificate_name;  // in its certificate; empty: plain HTTP
  bool operator==(const GatewayServer&) const = default;
};

struct GatewayPlan {
  std::vector<GatewayServer> servers;  // at least one; names and addresses differ
  std::string listen;                  // HOST:PORT, * for every address
  std::string certificate;             // a PEM file with its key; empty: plain HTTP
  std::string authorities;             // a PEM file, for servers' certificates; or @system-ca
  std::string socket;                  // for commands; empty: none
  std::string user;                    // HAProxy's user; empty: the one who starts it
  uint64_t body_bytes = 0;             // of a request, at most
  uint64_t read_bytes = 0;             // of a body, to choose a server
  uint32_t load_percent = 0;  // the most requests of a server, relative to the average; above 100
  uint32_t timeout_s = 0;     // for an answer without streaming
  uint32_t requests_a_minute = 0;  // per key; 0: no limit
  uint32_t requests_at_once = 0;   // per key; 0: no limit
};

std::string HaproxyConfig(const GatewayPlan& plan);

// A word in HAProxy's syntax, with any characters except line ends.
std::string HaproxyWord(std::string_view text);

}  // namespace aster::cli
