// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/export_kv_chunk.h"

#include <algorithm>
#include <cstring>

#include "kv/chunk.h"
#include "kv/transfer.h"

namespace aster::stage {
namespace {

// The capacity to reserve: enough for most KV chunks of a page, as a payload that grows is copied.
// A longer chunk may leave out most of its rows, which are outside a sliding window.
size_t UsualBytes(const kv::PageTable& table, kv::LayerRange layers, uint32_t count) {
  constexpr size_t kHeadBytes = 4096;
  constexpr size_t kBlockHeadBytes = 64;
  constexpr size_t kMostBytes = size_t{32} << 20;
  const kv::Layout& layout = table.layout();
  const size_t pages = count / layout.page_positions() + 2;
  size_t bytes = kHeadBytes + size_t{count} * sizeof(int32_t);
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
    for (const kv::Stream& stream : layout.streams(layer)) {
      bytes += (count / stream.stride + 1) * stream.codec->row_bytes() + pages * kBlockHeadBytes;
    }
  }
  return std::min(bytes, kMostBytes);
}

}  // namespace

Status ExportKvChunk(const kv::PageTable& table, kv::LayerRange layers, uint32_t begin,
                     uint32_t end, wire::Payload& chunk) {
  chunk.clear();
  if (begin <= end && table.layers().Contains(layers)) {
    chunk.reserve(UsualBytes(table, layers, end - begin));
  }
  // Not insert(): with the payload's allocator it copies byte by byte.
  return kv::Export(table, layers, begin, end, [&](Bytes bytes) {
    const size_t size = chunk.size();
    chunk.resize(size + bytes.size());
    if (!bytes.empty()) std::memcpy(chunk.data() + size, bytes.data(), bytes.size());
    return Ok();
  });
}

}  // namespace aster::stage
