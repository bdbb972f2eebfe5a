// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster cluster status: the present state of this machine's cluster.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
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
  // Nodes that did not answer get a shorter time in the next sample.
  std::vector<cluster::NodeId> silent;
  const ClusterSampler look = [&]() -> Result<ClusterSample> {
    const int64_t taken_ns = clock.NowNs();
    std::vector<node::NodeView> nodes = TRY(view->Look(silent));
    ClusterSample sample{.taken_ns = taken_ns, .nodes = std::move(nodes)};
    silent.clear();
    for (const node::NodeView& node : sample.nodes) {
      if (!node.status) silent.push_back(node.member.node);
    }
    return sample;
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
