// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The options of `aster gateway config`, and their errors. Must not know how HAProxy writes its
// configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/gateway/haproxy_config.h"

namespace CLI {
class App;
}

namespace aster::cli {

struct GatewayOptions {
  std::vector<std::string> servers;  // NAME=HOST:PORT, NAME=https://HOST:PORT
  std::string servers_path;          // a file with one per line
  std::string listen = "*:8080";
  std::string certificate;
  std::string authorities;
  std::string certificate_name;  // in servers' certificates; empty: their hosts
  std::string max_body = "16MiB";
  std::string read = "64KiB";
  std::string socket = "/run/haproxy/admin.sock";
  std::string user = "haproxy";
  uint32_t requests_a_minute = 0;
  uint32_t requests_at_once = 0;
  uint32_t load_percent = 300;
  uint32_t timeout_s = 3600;
  std::string to;  // empty: standard output

  void Declare(CLI::App& app);
  Result<GatewayPlan> Plan() const;
};

}  // namespace aster::cli
