// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether this node is drained, and which front ends have not left it yet. Must not know how it is
// told, nor what front ends do about it.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string_view>

#include "base/mutex.h"
#include "cluster/member.h"
#include "rpc/control_service.h"

namespace aster::node {

// Until the process ends: a node that is started again is used again. Safe for concurrent use.
class Drain {
 public:
  Drain(cluster::NodeId self, std::string_view ca_certificate)
      : self_(self), ca_certificate_(ca_certificate) {}

  // PermissionDenied where neither this machine asks nor the cluster's authority has signed it.
  Status Take(const cluster::NodeId& from, const rpc::DrainRequest& request) EXCLUDES(mu_);
  bool is_drained() const EXCLUDES(mu_);

  // Of a drained node, the front ends that have layers here, and those that had some since it is
  // drained and are still connected: KV rows of theirs may have to move. `with_layers`: those whose
  // routes are here now; `connected`: those that the data plane reaches.
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
