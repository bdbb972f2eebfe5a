// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/work_rates.h"

#include <algorithm>
#include <bit>

namespace aster::stage {

WorkRate::Times WorkRates::Frames::Times(uint32_t enough) const {
  if (count < enough) return {};
  return {.seconds = seconds.value(),
          .rows = static_cast<uint32_t>(rows.value()),
          .context = static_cast<uint32_t>(context.value()),
          .waited_s = waited_s.value()};
}

void WorkRates::Learn(const Hash128& fingerprint, const model::Slice& slice, uint32_t rows,
                      uint32_t context, double own_s, double waited_s) {
  const bool is_chunk = rows >= kFewestRows;
  if (own_s <= 0 || (rows != 1 && !is_chunk)) return;
  const auto found = std::ranges::find_if(known_, [&](const Known& known) {
    return known.fingerprint == fingerprint && known.slice == slice;
  });
  if (found != known_.end()) {
    std::rotate(found, found + 1, known_.end());
  } else {
    if (known_.size() == kMostSlices) known_.erase(known_.begin());
    known_.push_back({.fingerprint = fingerprint, .slice = slice, .tokens = {}, .chunks = {}});
  }
  Known& known = known_.back();
  Frames& frames =
      is_chunk ? known.chunks[static_cast<uint32_t>(std::bit_width(rows))] : known.tokens;
  frames.seconds.Add(own_s);
  if (waited_s > 0) frames.waited_s.Add(waited_s);
  frames.rows.Add(rows);
  frames.context.Add(context);
  ++frames.count;
}

std::vector<WorkRate> WorkRates::All() const {
  std::vector<WorkRate> all;
  for (const Known& known : known_) {
    WorkRate rate{.fingerprint = known.fingerprint,
                  .slice = known.slice,
                  .token = known.tokens.Times(kEnough),
                  .chunk = {}};
    for (auto it = known.chunks.rbegin(); it != known.chunks.rend(); ++it) {
      rate.chunk = it->second.Times(/*enough=*/1);
      if (rate.chunk.rows == 0) continue;
      all.push_back(rate);
      rate.token = {};
    }
    rate.chunk = {};
    if (rate.token.rows > 0) all.push_back(rate);
  }
  return all;
}

}  // namespace aster::stage
