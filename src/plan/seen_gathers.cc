// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/seen_gathers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace aster::plan {
namespace {

// Shares are ratios of small numbers: if they add up to less than 1 minus this, a part is missing.
constexpr double kNearlyWhole = 0.02;

bool IsPart(const MeasuredSlice& slice, uint32_t layer_count) {
  return slice.part < 1 && slice.begin < slice.end && slice.end <= layer_count;
}

// The node's newest slice of the same layers; null: none.
const MeasuredSlice* NewestOf(std::span<const MeasuredSlice> measured, const MeasuredSlice& like,
                              uint32_t layer_count) {
  const MeasuredSlice* newest = nullptr;
  for (const MeasuredSlice& slice : measured) {
    if (IsPart(slice, layer_count) && slice.begin == like.begin && slice.end == like.end &&
        slice.chunk.waited_s > 0)
      newest = &slice;
  }
  return newest;
}

// The shortest times of tokens and of the longest frames that all of the group's nodes have
// measured.
void TakeLeast(std::span<const NodeAbility> nodes, const MeasuredSlice& like, uint32_t layer_count,
               SeenGathers& seen) {
  std::map<int, std::pair<size_t, MeasuredSlice::Times>> frames;  // by the bit width of rows
  size_t with_tokens = 0;
  double token_s = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < seen.nodes.size(); ++i) {
    std::set<int> counted;
    bool has_token = false;
    for (const MeasuredSlice& slice : nodes[seen.nodes[i]].measured) {
      const bool is_of_group = IsPart(slice, layer_count) && slice.begin == like.begin &&
                               slice.end == like.end && slice.part == seen.parts[i];
      if (!is_of_group) continue;
      if (slice.token.waited_s > 0) {
        has_token = true;
        token_s = std::min(token_s, slice.token.waited_s);
      }
      if (slice.chunk.rows < 2 || slice.chunk.waited_s <= 0) continue;
      const int magnitude = std::bit_width(slice.chunk.rows);
      auto& [by, least] = frames[magnitude];
      if (counted.insert(magnitude).second) ++by;
      if (least.rows == 0 || slice.chunk.waited_s < least.waited_s) least = slice.chunk;
    }
    with_tokens += has_token ? 1 : 0;
  }
  if (with_tokens == seen.nodes.size()) seen.token_s = token_s;
  for (const auto& [magnitude, known] : frames) {
    if (known.first < seen.nodes.size()) continue;
    seen.frame_s = known.second.waited_s;
    seen.rows = known.second.rows;
  }
}

}  // namespace

std::optional<SeenGathers> FindGathers(std::span<const NodeAbility> nodes, uint32_t layer_count) {
  std::optional<SeenGathers> best;
  for (const NodeAbility& able : nodes) {
    for (const MeasuredSlice& like : able.measured) {
      if (!IsPart(like, layer_count)) continue;
      SeenGathers seen;
      double whole = 0;
      seen.layers = static_cast<double>(like.end - like.begin) / layer_count;
      for (size_t node = 0; node < nodes.size(); ++node) {
        const MeasuredSlice* const newest = NewestOf(nodes[node].measured, like, layer_count);
        if (newest == nullptr) continue;
        whole += newest->part;
        seen.nodes.push_back(node);
        seen.parts.push_back(newest->part);
      }
      if (seen.nodes.size() < 2 || std::abs(whole - 1) > kNearlyWhole) continue;
      TakeLeast(nodes, like, layer_count, seen);
      if (seen.rows > (best ? best->rows : 0)) best = std::move(seen);
    }
  }
  return best;
}

}  // namespace aster::plan
