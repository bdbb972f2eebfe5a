// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster cluster status: what this machine's cluster does at the moment.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/cluster/cluster_commands.h"
#include "cli/cluster/cluster_status.h"
#include "open/node_pool.h"

namespace aster::cli {
namespace {

struct ClusterStatusFlags {
  ClusterStatusOptions show;
  std::vector<std::string> via;
};

Result<ExitStatus> ShowStatus(const ClusterStatusFlags& options, Console& console) {
  const auto view = TRY(open::ViewOfCluster(options.via));
  const SystemClock clock;
  const ClusterSampler look = [&]() -> Result<ClusterSample> {
    return ClusterSample{.taken_ns = clock.NowNs(), .nodes = TRY(view->Look())};
  };
  return ShowClusterStatus(options.show, look, console);
}

}  // namespace

Run DeclareClusterStatus(CLI::App& app) {
  auto options = std::make_shared<ClusterStatusFlags>();
  options->show.Declare(app);
  app.add_option("--via", options->via,
                 "Address of a node that knows the others (default: the nodes that were seen "
                 "before). Repeatable")
      ->type_name("HOST:PORT");
  return [options](Console& console) { return ShowStatus(*options, console); };
}

}  // namespace aster::cli
