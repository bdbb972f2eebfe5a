// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/kv_holdings.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/pages.h"

namespace aster::conduct {

using RateOf = std::function<double(const wire::NodeId&)>;

void KvHoldings::Take(const wire::NodeId& node, const wire::FoundKv& found) {
  silent_.erase(node);
  std::vector<uint32_t>& lengths = lengths_[node];
  lengths.assign(layer_count_, 0);
  for (const wire::HeldKv& held : found.held) {
    for (uint32_t layer = held.layer_begin; layer < std::min(held.layer_end, layer_count_);
         ++layer) {
      lengths[layer] = held.length;
    }
  }
}

void KvHoldings::MarkUnreachable(const wire::NodeId& node) {
  silent_.erase(node);
  lengths_.erase(node);
}

std::vector<wire::NodeId> KvHoldings::answered() const {
  std::vector<wire::NodeId> nodes;
  for (const auto& [node, lengths] : lengths_) {
    if (*std::ranges::max_element(lengths) > 0) nodes.push_back(node);
  }
  return nodes;
}

uint32_t KvHoldings::MostOf(uint32_t layer) const {
  uint32_t most = 0;
  for (const auto& [node, lengths] : lengths_) most = std::max(most, lengths[layer]);
  return most;
}

wire::NodeId KvHoldings::SourceOf(uint32_t layer, uint32_t length, const wire::NodeId& target,
                                  const wire::NodeId* before, const RateOf& rate_of) const {
  const auto has = [&](const wire::NodeId& node) {
    const auto found = lengths_.find(node);
    return found != lengths_.end() && found->second[layer] >= length;
  };
  if (has(target)) return target;
  if (before != nullptr && has(*before)) return *before;
  const wire::NodeId* best = nullptr;
  for (const auto& [node, lengths] : lengths_) {
    if (!has(node)) continue;
    if (best == nullptr || rate_of(node) > rate_of(*best)) best = &node;
  }
  CHECK(best != nullptr);
  return *best;
}

KvSources KvHoldings::Choose(std::span<const KvDestination> destinations, uint32_t goal,
                             const RateOf& rate_of,
                             const std::function<double(kv::LayerRange)>& bytes_of) const {
  KvSources sources{.end = goal, .fetches = {}};
  uint32_t held = goal;
  for (const KvDestination& destination : destinations) {
    held = std::min(held, destination.held);
    for (uint32_t layer = destination.layers.begin; layer < destination.layers.end; ++layer) {
      sources.end = std::min(sources.end, std::max(destination.held, MostOf(layer)));
    }
  }
  // Nodes send full pages; a stage's own rows may end within one.
  sources.end = sources.end / kernels::kPagePositions * kernels::kPagePositions;
  if (sources.end <= held) return {};
  std::map<wire::NodeId, double> leaving;  // bytes
  for (size_t i = 0; i < destinations.size(); ++i) {
    const KvDestination& destination = destinations[i];
    if (destination.held >= sources.end) continue;
    const size_t first = sources.fetches.size();
    for (uint32_t layer = destination.layers.begin; layer < destination.layers.end; ++layer) {
      const bool goes_on = sources.fetches.size() > first;
      const wire::NodeId before = goes_on ? sources.fetches.back().from : wire::NodeId{};
      const wire::NodeId source =
          SourceOf(layer, sources.end, destination.node, goes_on ? &before : nullptr, rate_of);
      if (!goes_on || before != source) {
        sources.fetches.push_back({.from = source, .destination = i, .layers = {layer, layer}});
      }
      sources.fetches.back().layers.end = layer + 1;
      if (source == destination.node) continue;
      const double bytes = bytes_of({layer, layer + 1}) * (sources.end - destination.held);
      leaving[source] += bytes;
      sources.bytes += static_cast<uint64_t>(bytes);
    }
  }
  // Nodes send at the same time, each at its own rate.
  for (const auto& [node, bytes] : leaving) {
    const double rate = rate_of(node);
    if (rate > 0) sources.seconds = std::max(sources.seconds, bytes / rate);
  }
  return sources;
}

}  // namespace aster::conduct
