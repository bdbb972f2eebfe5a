// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a cluster does, as text for a terminal and as JSON: nodes, who holds which layers, links,
// and rates between two looks. Must not know where the values come from, nor when they are shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "node/cluster_view.h"

namespace aster::cli {

struct ClusterSample {
  int64_t taken_ns = 0;  // of a clock that does not jump
  std::vector<node::NodeView> nodes;
};

// Lines of at most `width` columns, each ended by a newline. With an earlier sample of the same
// cluster rates are shown.
std::string ClusterStatusText(const ClusterSample& sample, const ClusterSample* earlier,
                              size_t width);

// One document; rates are null where nothing is known of them.
std::string ClusterStatusJson(const ClusterSample& sample, const ClusterSample* earlier);

}  // namespace aster::cli
