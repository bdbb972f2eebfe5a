// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/cluster/cluster_rates.h"

#include <algorithm>

namespace aster::cli {
namespace {

// The same node's status in the earlier sample.
const cluster::NodeStatus* StatusBefore(const ClusterSample* earlier, const node::NodeView& node) {
  if (earlier == nullptr) return nullptr;
  const auto found = std::ranges::find(earlier->nodes, node.member.node,
                                       [](const node::NodeView& seen) { return seen.member.node; });
  return found == earlier->nodes.end() || !found->status ? nullptr : &*found->status;
}

double SecondsBetween(const ClusterSample& sample, const ClusterSample* earlier) {
  return static_cast<double>(sample.taken_ns - earlier->taken_ns) * 1e-9;
}

std::optional<double> Rate(uint64_t now, uint64_t before, double seconds) {
  if (now < before || seconds <= 0) return std::nullopt;
  return static_cast<double>(now - before) / seconds;
}

}  // namespace

SliceRates RatesOf(const ClusterSample& sample, const ClusterSample* earlier,
                   const node::NodeView& node, const cluster::SliceStatus& slice) {
  const cluster::NodeStatus* const before = StatusBefore(earlier, node);
  if (before == nullptr) return {};
  const auto found = std::ranges::find_if(before->slices, [&](const cluster::SliceStatus& other) {
    return other.route == slice.route && other.layers == slice.layers;
  });
  if (found == before->slices.end()) return {};
  const double seconds = SecondsBetween(sample, earlier);
  SliceRates rates{.tokens_per_s = Rate(slice.tokens, found->tokens, seconds),
                   .busy = Rate(slice.compute_ns, found->compute_ns, seconds * 1e9)};
  // A frame counts when it is done, and may have begun before the earlier sample.
  if (rates.busy) rates.busy = std::min(*rates.busy, 1.0);
  return rates;
}

std::optional<double> SentBytesPerSecond(const ClusterSample& sample, const ClusterSample* earlier,
                                         const node::NodeView& node,
                                         const cluster::LinkStatus& link) {
  const cluster::NodeStatus* const before = StatusBefore(earlier, node);
  if (before == nullptr) return std::nullopt;
  const auto found = std::ranges::find(before->links, link.peer, &cluster::LinkStatus::peer);
  if (found == before->links.end()) return std::nullopt;
  return Rate(link.sent_bytes, found->sent_bytes, SecondsBetween(sample, earlier));
}

}  // namespace aster::cli
