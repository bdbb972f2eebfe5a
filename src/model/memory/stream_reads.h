// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How much of the KV cache is read for a token, for plans and for limits of time. Must not know
// time, nor which sequence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kv/layout.h"
#include "model/shape/shape.h"

namespace aster::model {

// What a token's computation reads of a stream: `position_bytes` for each of `positions` positions
// before it, or of all (0), on average.
struct StreamReads {
  uint64_t positions = 0;
  double position_bytes = 0;

  double At(uint64_t past) const {
    return static_cast<double>(positions > 0 ? std::min(past, positions) : past) * position_bytes;
  }
};
StreamReads ReadsOf(const Shape& shape, uint32_t layer, uint32_t index, const kv::Stream& stream);

// For all streams that a layer reads, its own and other layers'.
std::vector<StreamReads> ReadsOfLayer(const Shape& shape, const kv::Layout& layout, uint32_t layer);

}  // namespace aster::model
