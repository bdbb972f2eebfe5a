// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/link_doubts.h"

#include <algorithm>

#include "base/clock.h"

namespace aster::plan {
namespace {

constexpr double kSlower = 4;
// By then the node at the other end has measured that direction again. Nothing reports that a rate
// was confirmed, so doubts expire.
constexpr int64_t kDoubtedNs = 30 * kNsPerSecond;

}  // namespace

void LinkDoubts::Apply(std::span<const NodeAbility> nodes, std::vector<LinkAbility>& links,
                       int64_t now_ns) {
  const auto way_of = [&](const LinkAbility& link) {
    return Way(nodes[link.from].node.id, nodes[link.to].node.id);
  };
  std::map<Way, double> before = rates_;
  for (const LinkAbility& link : links) {
    if (link.bytes_per_s > 0) rates_[way_of(link)] = link.bytes_per_s;
  }
  for (const auto& [way, rate] : rates_) {
    const Way back(way.second, way.first);
    const auto known_back = rates_.find(back);
    if (known_back == rates_.end() || rate * kSlower >= before[way]) continue;
    // If the other direction was measured again, neither casts doubt on the other.
    if (known_back->second != before[back]) continue;
    doubts_[back] = {.measured_bytes_per_s = known_back->second,
                     .other_bytes_per_s = rate,
                     .until_ns = now_ns + kDoubtedNs};
  }
  for (LinkAbility& link : links) {
    const auto doubt = doubts_.find(way_of(link));
    if (doubt == doubts_.end()) continue;
    if (link.bytes_per_s != doubt->second.measured_bytes_per_s ||
        now_ns >= doubt->second.until_ns) {
      doubts_.erase(doubt);
      continue;
    }
    link.bytes_per_s = std::min(link.bytes_per_s, doubt->second.other_bytes_per_s);
  }
}

}  // namespace aster::plan
