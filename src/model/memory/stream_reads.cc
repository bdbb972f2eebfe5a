// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/memory/stream_reads.h"

#include "model/memory/memory.h"

namespace aster::model {

StreamReads ReadsOf(const Shape& shape, uint32_t layer, uint32_t index, const kv::Stream& stream) {
  const auto row_bytes = static_cast<double>(stream.codec->row_bytes());
  // States once, and the convolution's inputs: a page's other inputs only if its states are lost.
  if (shape.has_state(layer))
    return {index == kStateStream ? 1 : uint64_t{shape.recurrence.taps}, row_bytes};
  uint64_t positions = stream.window > 0 ? uint64_t{stream.window} + stream.sinks : 0;
  // If an index chooses rows, only these are read, and all rows of the index.
  if (shape.is_indexed() && index == kMlaStream) positions = shape.index.top;
  const bool is_compressed = shape.is_latent() && index == kCompressedStream && stream.window == 0;
  if (is_compressed && HasChosenRows(shape, layer))
    positions = uint64_t{shape.latent.index_top} * stream.stride;
  return {positions, row_bytes / stream.stride / stream.read_every};
}

std::vector<StreamReads> ReadsOfLayer(const Shape& shape, const kv::Layout& layout,
                                      uint32_t layer) {
  std::vector<StreamReads> reads;
  const auto add = [&](uint32_t source, uint32_t index) {
    reads.push_back(ReadsOf(shape, source, index, layout.streams(source)[index]));
  };
  const uint32_t source = KvLayerOf(shape, layer);
  for (uint32_t index = 0; index < layout.streams(source).size(); ++index) add(source, index);
  if (!shape.shares_compressed_rows() || !HasChosenRows(shape, layer)) return reads;
  const uint32_t far = CompressedLayerOf(shape, layer);
  if (far == layer) return reads;
  add(far, kCompressedStream);
  return reads;
}

}  // namespace aster::model
