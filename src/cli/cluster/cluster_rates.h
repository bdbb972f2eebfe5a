// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What happened between two looks at a cluster. Must not know how it is shown.
#pragma once

#include <optional>

#include "cli/cluster/cluster_status_view.h"

namespace aster::cli {

// Nothing where there was no earlier look, or where counters began anew in between.
struct SliceRates {
  std::optional<double> tokens_per_s;
  std::optional<double> busy;  // part of the time in which it computed
};
SliceRates RatesOf(const ClusterSample& sample, const ClusterSample* earlier,
                   const node::NodeView& node, const cluster::SliceStatus& slice);

std::optional<double> SentBytesPerSecond(const ClusterSample& sample, const ClusterSample* earlier,
                                         const node::NodeView& node,
                                         const cluster::LinkStatus& link);

}  // namespace aster::cli
