// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether this node is drained, and which front ends have not left it yet. Must not know how the
// order arrives, nor how front ends react.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string_view>

#include "base/mutex.h"
#include "cluster/member.h"
#include "rpc/control_service.h"

namespace aster::node {

// Lasts until the process ends: a restarted node is used again. Safe for concurrent use.
class Drain {
 public:
  Drain(cluster::NodeId self, std::string_view ca_certificate)
      : self_(self), ca_certificate_(ca_certificate) {}

  // PermissionDenied unless the order comes from this machine, or the cluster's authority has
  // signed it.
  Status Take(const cluster::NodeId& from, const rpc::DrainRequest& request) EXCLUDES(mu_);
  bool is_drained() const EXCLUDES(mu_);

  // The number of front ends that have not left the drained node: those with routes here now
  // (`with_layers`), and those that had one after the drain and are still connected to the data
  // plane (`connected`), as their KV rows may have to move.
  size_t Leaving(std::span<const cluster::NodeId> with_layers,
                 std::span<const cluster::NodeId> connected) EXCLUDES(mu_);

 private:
  const cluster::NodeId self_;
  const std::string_view ca_certificate_;  // of the node's identity, which outlives this

  mutable Mutex mu_;
  bool is_drained_ GUARDED_BY(mu_) = false;
  std::set<cluster::NodeId> leaving_ GUARDED_BY(mu_);
};

}  // namespace aster::node
