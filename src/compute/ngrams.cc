// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/ngrams.h"

#include <algorithm>

namespace aster::compute {

SpanClasses::SpanClasses(const NgramHash& hash, const PageSpan& span)
    : hash_(hash),
      first_row_(span.first_row),
      longest_before_(hash.multipliers.size() - 1),
      before_(std::min<size_t>(span.position, longest_before_)),
      classes_(longest_before_ + span.count, hash.padding) {
  for (uint32_t i = 0; i < span.count; ++i) {
    const auto token = static_cast<size_t>(hash.tokens[span.first_row + i]);
    classes_[longest_before_ + i] = hash.classes[token];
  }
}

void SpanClasses::Hash(uint32_t i) const {
  const uint32_t* const newest = classes_.data() + longest_before_ + i;
  int32_t* const ids = hash_.ids.data() + (first_row_ + i) * hash_.row_counts.size();
  uint64_t rolling = newest[0] * hash_.multipliers[0];
  size_t next = 0;
  for (size_t back = 1; back <= longest_before_; ++back) {
    rolling ^= *(newest - back) * hash_.multipliers[back];
    for (uint32_t head = 0; head < hash_.heads; ++head, ++next)
      ids[next] = static_cast<int32_t>(rolling % hash_.row_counts[next] + hash_.first_rows[next]);
  }
}

}  // namespace aster::compute
