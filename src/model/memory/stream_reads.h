// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What of the KV cache has to be read for a token, for plans and for limits of time. Must not know
// time, nor which sequence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kv/layout.h"
#include "model/shape/shape.h"

namespace aster::model {

// What the computation of a token reads of a stream: of so many positions before it, or of all of
// them (0), so many bytes each, on average.
struct StreamReads {
  uint64_t positions = 0;
  double position_bytes = 0;

  double At(uint64_t past) const {
    return static_cast<double>(positions > 0 ? std::min(past, positions) : past) * position_bytes;
  }
};
StreamReads ReadsOf(const Shape& shape, uint32_t layer, uint32_t index, const kv::Stream& stream);

// Of all streams that a layer reads, its own and other layers'.
std::vector<StreamReads> ReadsOfLayer(const Shape& shape, const kv::Layout& layout, uint32_t layer);

}  // namespace aster::model
