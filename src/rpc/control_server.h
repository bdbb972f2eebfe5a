// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Serves the control plane's calls, by gRPC with certificates of the cluster on both sides. Must
// not know the answers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/identity.h"
#include "rpc/control_service.h"

namespace aster::rpc {

struct ControlServerOptions {
  cluster::Identity identity;
  std::vector<std::string> listen;  // HOST:PORT each; port 0 takes any that is free
};

class ControlServer {
 public:
  // The service outlives it.
  static Result<std::unique_ptr<ControlServer>> Start(ControlServerOptions options,
                                                      ControlService& service);
  // Ends calls that are in flight.
  virtual ~ControlServer() = default;

  // The addresses that it listens on.
  virtual const std::vector<std::string>& addresses() const = 0;
};

}  // namespace aster::rpc
