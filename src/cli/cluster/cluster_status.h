// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster cluster status: shows the state of a cluster, continuously on a terminal. Must not know how
// a cluster is asked.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/cluster/cluster_status_view.h"
#include "cli/command.h"
#include "cli/terminal/console.h"

namespace aster::cli {

struct ClusterStatusOptions {
  bool json = false;
  bool once = false;
  std::string interval = "1s";

  void Declare(CLI::App& app);
};

// Asks the cluster. An error ends the command.
using ClusterSampler = std::function<Result<ClusterSample>()>;

// On a terminal until Ctrl-C, unless `once` is set; otherwise two samples, for rates.
Result<ExitStatus> ShowClusterStatus(const ClusterStatusOptions& options,
                                     const ClusterSampler& look, Console& console);

// The command itself, for cluster_command.cc.
Run DeclareClusterStatus(CLI::App& app);

}  // namespace aster::cli
