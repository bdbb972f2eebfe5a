// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The state of a cluster, as text for a terminal and as JSON: nodes, their layers, links, and rates
// between two samples. Must not know where the values come from, nor when they are shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "node/cluster_view.h"

namespace aster::cli {

struct ClusterSample {
  int64_t taken_ns = 0;  // of a monotonic clock
  std::vector<node::NodeView> nodes;
};

// Lines of at most `width` columns, each with a newline. Rates need an earlier sample of the same
// cluster.
std::string ClusterStatusText(const ClusterSample& sample, const ClusterSample* earlier,
                              size_t width);

// One document; unknown rates are null.
std::string ClusterStatusJson(const ClusterSample& sample, const ClusterSample* earlier);

}  // namespace aster::cli
