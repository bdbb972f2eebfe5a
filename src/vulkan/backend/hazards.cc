// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/hazards.h"

#include <algorithm>

namespace aster::vulkan {
namespace {

bool AnyOverlaps(const std::vector<Range>& earlier, std::initializer_list<Range> later) {
  return std::ranges::any_of(earlier, [&](const Range& a) {
    return std::ranges::any_of(later, [&](const Range& b) { return Overlap(a, b); });
  });
}

}  // namespace

bool Overlap(const Range& a, const Range& b) {
  return a.bytes > 0 && b.bytes > 0 && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

bool Hazards::NeedsBarrier(std::initializer_list<Range> reads,
                           std::initializer_list<Range> writes) {
  const bool needed =
      AnyOverlaps(writes_, reads) || AnyOverlaps(writes_, writes) || AnyOverlaps(reads_, writes);
  if (needed) Clear();
  reads_.insert(reads_.end(), reads);
  writes_.insert(writes_.end(), writes);
  return needed;
}

void Hazards::Clear() {
  reads_.clear();
  writes_.clear();
}

}  // namespace aster::vulkan
