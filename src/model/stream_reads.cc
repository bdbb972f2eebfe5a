// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/stream_reads.h"

#include "model/memory.h"

namespace aster::model {

StreamReads ReadsOf(const Shape& shape, uint32_t layer, uint32_t index, const kv::Stream& stream) {
  const auto row_bytes = static_cast<double>(stream.codec->row_bytes());
  // States once, and what the convolution joins: a page's other inputs only where states are gone.
  if (shape.has_state(layer))
    return {index == kStateStream ? 1 : uint64_t{shape.recurrence.taps}, row_bytes};
  uint64_t positions = stream.window > 0 ? uint64_t{stream.window} + stream.sinks : 0;
  // Where an index chooses rows, those alone are read, and all of its own.
  if (shape.is_indexed() && index == kMlaStream) positions = shape.index.top;
  const bool is_ranked = shape.is_latent() && index == kFarStream && stream.stride == kShortRatio;
  if (is_ranked) positions = uint64_t{shape.latent.index_top} * kShortRatio;
  return {positions, row_bytes / stream.stride / stream.read_every};
}

}  // namespace aster::model
