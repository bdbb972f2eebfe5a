// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/drain.h"

#include <algorithm>

#include "base/log.h"
#include "cluster/drain_order.h"

namespace aster::node {

Status Drain::Take(const cluster::NodeId& from, const rpc::DrainRequest& request) {
  if (from != self_) {
    const Status checked =
        cluster::CheckDrainOrder(self_, request.is_drained, request.signature, ca_certificate_);
    if (!checked.ok()) {
      return Error(Code::kPermissionDenied,
                   "a node is drained from its own machine, or from one that has the cluster's key "
                   "(`aster cluster show` says whether it has)");
    }
  }
  const MutexLock lock(mu_);
  if (is_drained_ == request.is_drained) return Ok();
  is_drained_ = request.is_drained;
  leaving_.clear();
  log::Info(is_drained_ ? "this node is drained" : "this node is no longer drained",
            {{"by", from.ToText()}});
  return Ok();
}

bool Drain::is_drained() const {
  const MutexLock lock(mu_);
  return is_drained_;
}

size_t Drain::Leaving(std::span<const cluster::NodeId> with_layers,
                      std::span<const cluster::NodeId> connected) {
  const MutexLock lock(mu_);
  if (!is_drained_) return 0;
  std::erase_if(leaving_, [&](const cluster::NodeId& front_end) {
    return std::ranges::find(connected, front_end) == connected.end();
  });
  leaving_.insert(with_layers.begin(), with_layers.end());
  return leaving_.size();
}

}  // namespace aster::node
