// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/held_rows.h"

#include <algorithm>
#include <map>
#include <variant>

#include "kernels/pages.h"

namespace aster::open {
namespace {

constexpr int64_t kAskNs = 500 * kNsPerMs;
// Conductors number their queries from 1.
constexpr uint64_t kQuery = UINT64_MAX;

}  // namespace

std::vector<plan::HeldRows> FindHeldRows(net::Network& network,
                                         std::span<const plan::PlanNode> nodes,
                                         const kv::Layout& layout,
                                         std::span<const int32_t> tokens) {
  constexpr size_t kPage = kernels::kPagePositions;
  const size_t most = tokens.empty() ? 0 : (tokens.size() - 1) / kPage * kPage;
  if (most == 0) return {};
  wire::FindKv query{.query = kQuery,
                     .digest = layout.digest(),
                     .layer_count = layout.layer_count(),
                     .tokens = {tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(most)}};
  std::map<wire::NodeId, const plan::PlanNode*> silent;
  for (const plan::PlanNode& node : nodes) {
    network.Introduce(node.id, node.addresses);
    if (network.Send(node.id, query).ok()) silent[node.id] = &node;
  }
  std::vector<plan::HeldRows> all;
  const int64_t deadline_ns = network.clock().NowNs() + kAskNs;
  query.tokens.clear();
  while (!silent.empty()) {
    const auto event = network.Receive(deadline_ns);
    if (!event) break;
    const auto asked = silent.find(event->from);
    if (asked == silent.end()) continue;
    const auto* const found = std::get_if<wire::FoundKv>(&event->message);
    const bool has_answered = event->kind == net::Event::Kind::kMessage && found != nullptr;
    if (has_answered && found->query == kQuery) {
      for (const wire::HeldKv& held : found->held) {
        const uint32_t end = std::min(held.layer_end, layout.layer_count());
        if (held.layer_begin >= end || held.length == 0) continue;
        plan::HeldRows& rows = all.emplace_back();
        rows.stage.node = *asked->second;
        rows.stage.slice = {.layer_begin = held.layer_begin, .layer_end = end};
        rows.tokens = std::min(held.length, static_cast<uint32_t>(most));
      }
    } else if (event->kind != net::Event::Kind::kDown) {
      continue;
    }
    silent.erase(asked);
  }
  // Ends the query; nodes that cannot be told forget it after a while.
  for (const plan::PlanNode& node : nodes) static_cast<void>(network.Send(node.id, query));
  return all;
}

}  // namespace aster::open
