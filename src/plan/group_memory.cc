// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/group_memory.h"

#include <algorithm>

namespace aster::plan {

uint64_t GroupMemory::Of(const model::GroupPart& part, uint32_t begin, uint32_t end) const {
  const Form& form = part.owns_experts ? owners : rows;
  const model::PartRanges own = RangesOf(part, all);
  uint64_t experts = 0;
  if (part.owns_experts) {
    const uint32_t alone = RangeOf(part, expert_count).count();
    experts = alone + std::min(part.replicas, expert_count - alone);
  }
  const auto bytes_of = [&](const model::PartBytes& of) {
    return of.Of(own, part.is_leader(), experts);
  };
  return bytes_of(form.before[end]) - bytes_of(form.before[begin]) +
         bytes_of(form.ends[begin == 0 ? 1 : 0][end == layer_count() ? 1 : 0]);
}

}  // namespace aster::plan
