// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/closed_routes.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace aster::open {
namespace {

using cluster::SliceStatus;

// Stages of one node may share a slice, whose memory counts once. A status does not say so: slices
// of one size are taken for one, so that no memory is counted as free that is not.
bool MayBeShared(const SliceStatus& a, const SliceStatus& b) {
  return a.fingerprint == b.fingerprint && a.weight_bytes == b.weight_bytes &&
         a.kv_budget_bytes == b.kv_budget_bytes;
}

// Main memory: without the KV cache of layers on GPUs.
uint64_t MainBytesOf(const SliceStatus& slice) {
  const uint32_t layers = std::max(1u, slice.layers.end - slice.layers.begin);
  const uint64_t on_gpus = slice.kv_budget_bytes / layers * std::min(layers, slice.gpu_layers);
  return slice.weight_bytes + slice.kv_budget_bytes - on_gpus;
}

}  // namespace

void ClosedRoutes::Add(std::span<const wire::RouteId> routes) {
  routes_.insert(routes_.end(), routes.begin(), routes.end());
  while (routes_.size() > kMostRoutes) routes_.pop_front();
}

void ClosedRoutes::RemoveFrom(cluster::NodeStatus& status) const {
  const auto removed = std::ranges::stable_partition(status.slices, [&](const SliceStatus& slice) {
    return std::ranges::count(routes_, slice.route) == 0;
  });
  const std::vector<SliceStatus> closed(removed.begin(), removed.end());
  status.slices.erase(removed.begin(), removed.end());
  if (status.slices.empty()) {
    // Without an estimate: only slices are counted.
    status.memory_used_bytes = 0;
    return;
  }
  std::vector<SliceStatus> known = status.slices;
  for (const SliceStatus& slice : closed) {
    const auto is_known = [&](const SliceStatus& other) { return MayBeShared(slice, other); };
    if (std::ranges::any_of(known, is_known)) continue;
    known.push_back(slice);
    status.memory_used_bytes -= std::min(status.memory_used_bytes, MainBytesOf(slice));
  }
}

}  // namespace aster::open
