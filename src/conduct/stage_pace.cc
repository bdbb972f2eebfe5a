// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/stage_pace.h"

#include <algorithm>
#include <bit>

namespace aster::conduct {
namespace {

// Shorter times depend more on a machine's other work than on its speed.
constexpr double kLeastNs = 1e5;
// Shorter texts count as equally long.
constexpr uint32_t kShortText = 512;

}  // namespace

void StagePace::Learn(uint32_t first_stage, uint32_t rows, uint32_t length,
                      std::span<const wire::Hop> hops, int64_t now_ns) {
  if (rows == 0) return;
  const uint32_t of_rows =
      rows <= kFewRows ? rows : kFewRows + static_cast<uint32_t>(std::bit_width(rows));
  const auto depth = static_cast<uint32_t>(std::bit_width(length / kShortText));
  const uint32_t kind = of_rows * kDepths + std::min(depth, kDepths - 1);
  // The time of a long frame grows with its rows.
  const double part = IsOfRow(kind) ? rows : 1;
  for (size_t i = 0; i < hops.size() && first_stage + i < stages_.size(); ++i) {
    Stage& stage = stages_[first_stage + i];
    // Times from other machines are not trusted.
    const auto all_ns = static_cast<double>(hops[i].compute_ns);
    const double exchange_ns =
        static_cast<double>(hops[i].gather_ns) + static_cast<double>(hops[i].gather_send_ns);
    const double own_ns = all_ns - std::min(exchange_ns, all_ns);
    if (own_ns < kLeastNs) continue;
    stage.own[kind].typical.Add(own_ns / part);
    // The other nodes compute at the same time, so it only waits if they take longer.
    if (all_ns > own_ns) stage.others[kind].typical.Add(all_ns / part);
    if (++stage.own[kind].count < kEnough) continue;
    stage.kind = kind;
    stage.seen_ns = now_ns;
  }
}

std::vector<StagePace::Pace> StagePace::Paces(int64_t now_ns, int64_t oldest_ns) const {
  std::vector<Pace> paces;
  for (const Stage& stage : stages_) {
    Pace& pace = paces.emplace_back();
    if (stage.kind == 0 || now_ns - stage.seen_ns > oldest_ns) continue;
    pace = {.kind = stage.kind, .own_ns = stage.own.at(stage.kind).typical.value(), .others_ns = 0};
    const auto others = stage.others.find(stage.kind);
    if (others != stage.others.end()) pace.others_ns = others->second.typical.value();
  }
  return paces;
}

}  // namespace aster::conduct
