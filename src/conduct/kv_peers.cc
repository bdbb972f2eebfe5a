// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/kv_peers.h"

#include <utility>

#include "base/clock.h"

namespace aster::conduct {
namespace {

constexpr int64_t kSlowNs = 10 * kNsPerSecond;

}  // namespace

void KvPeers::AddFormer(const plan::Plan& plan, std::span<const wire::NodeId> lost) {
  for (const plan::PlanStage& stage : plan.AllStages()) {
    former_[stage.node.id] = {.node = stage.node, .bytes_per_s = 0};
  }
  Forget(lost);
}

void KvPeers::Forget(std::span<const wire::NodeId> nodes) {
  for (const wire::NodeId& node : nodes) former_.erase(node);
}

void KvPeers::AddSlow(const wire::NodeId& node, int64_t now_ns) {
  std::erase_if(slow_until_ns_, [&](const auto& slow) { return slow.second <= now_ns; });
  slow_until_ns_[node] = now_ns + kSlowNs;
}

std::vector<KvPeer> KvPeers::ToAsk(std::span<const plan::PlanStage> route, int64_t now_ns) const {
  std::map<wire::NodeId, KvPeer> peers = former_;
  for (const plan::PlanStage& stage : route) peers[stage.node.id] = {.node = stage.node};
  // Entries of the caller replace those of routes, as they have rates.
  if (others_) {
    for (KvPeer& peer : others_()) peers[peer.node.id] = std::move(peer);
  }
  std::vector<KvPeer> asked;
  for (auto& [id, peer] : peers) {
    const auto slow = slow_until_ns_.find(id);
    if (slow == slow_until_ns_.end() || slow->second <= now_ns) asked.push_back(std::move(peer));
  }
  return asked;
}

}  // namespace aster::conduct
