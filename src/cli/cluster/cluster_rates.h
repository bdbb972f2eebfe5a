// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The changes between two samples of a cluster. Must not know how they are shown.
#pragma once

#include <optional>

#include "cli/cluster/cluster_status_view.h"

namespace aster::cli {

// Nullopt without an earlier sample, or if counters restarted in between.
struct SliceRates {
  std::optional<double> tokens_per_s;
  std::optional<double> busy;  // share of the time in which it computed
};
SliceRates RatesOf(const ClusterSample& sample, const ClusterSample* earlier,
                   const node::NodeView& node, const cluster::SliceStatus& slice);

std::optional<double> SentBytesPerSecond(const ClusterSample& sample, const ClusterSample* earlier,
                                         const node::NodeView& node,
                                         const cluster::LinkStatus& link);

}  // namespace aster::cli
