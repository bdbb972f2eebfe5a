// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The nodes that may hold KV rows of a text: those of a route, of earlier plans, and those that the
// caller knows. Must not know what they hold.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "conduct/kv_costs.h"
#include "plan/plan.h"

namespace aster::conduct {

// Belongs to one thread.
class KvPeers {
 public:
  // `others` may be null.
  explicit KvPeers(KvPeerList others) : others_(std::move(others)) {}

  // Another plan replaces this one. Its nodes, except the lost ones, keep their rows for a while.
  void AddFormer(const plan::Plan& plan, std::span<const wire::NodeId> lost);
  // These nodes of former plans will be switched off: they are not asked any more.
  void Forget(std::span<const wire::NodeId> nodes);
  // The node did not answer, or stopped sending: it is left out for a while.
  void AddSlow(const wire::NodeId& node, int64_t now_ns);

  // Every node once, in the order of their ids.
  std::vector<KvPeer> ToAsk(std::span<const plan::PlanStage> route, int64_t now_ns) const;

 private:
  const KvPeerList others_;
  std::map<wire::NodeId, KvPeer> former_;
  std::map<wire::NodeId, int64_t> slow_until_ns_;
};

}  // namespace aster::conduct
