// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The routes that this process has closed, whose memory the next plan may use: a node's status is
// some time old, and may still have their slices. Must not know why routes are closed.
#pragma once

#include <cstddef>
#include <deque>
#include <span>

#include "cluster/description.h"
#include "wire/messages.h"

namespace aster::open {

class ClosedRoutes {
 public:
  // If too many are stored, the oldest are dropped: no node has them any more.
  void Add(std::span<const wire::RouteId> routes);
  // Removes their slices from the status, and from the used memory what only they use.
  void RemoveFrom(cluster::NodeStatus& status) const;

 private:
  static constexpr size_t kMostRoutes = 256;

  std::deque<wire::RouteId> routes_;  // the newest last
};

}  // namespace aster::open
