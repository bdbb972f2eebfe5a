// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/kv_costs.h"

#include <algorithm>

#include "base/clock.h"
#include "stage/kv_chunk_encoding.h"

namespace aster::conduct {
namespace {

constexpr double kLeastMeasuredBytes = 1 << 20;
constexpr uint32_t kLeastMeasuredTokens = 128;

}  // namespace

double KvCosts::BytesPerPosition(const kv::Layout& layout, kv::LayerRange layers) const {
  double bytes = 0;
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
    for (const kv::Stream& stream : layout.streams(layer)) {
      // Rows are sent a page at a time, without those that have left the sliding window by the
      // page's end: this counts the rows of a page after the attention sinks.
      const uint32_t page = stream.page_positions();
      const uint32_t index = stream.SinkPages() + stream.window / page + 1;
      const uint32_t rows =
          stream.codec->page_rows() - stream.FirstRowNeeded(index, (index + 1) * page);
      const size_t row_bytes = stage::EncodedRowBytes(kv_encoding_, stream);
      bytes += static_cast<double>(row_bytes) * rows / page;
    }
  }
  return bytes;
}

double KvCosts::BytesPerSecond(const wire::NodeId& node) const {
  const std::vector<KvPeer> peers = peers_ ? peers_() : std::vector<KvPeer>();
  const auto peer =
      std::ranges::find(peers, node, [](const KvPeer& other) { return other.node.id; });
  if (peer != peers.end()) return BytesPerSecond(*peer);
  KvPeer unknown;
  unknown.node.id = node;
  return BytesPerSecond(unknown);
}

double KvCosts::BytesPerSecond(const KvPeer& peer) const {
  const auto seen = seen_bytes_per_s_.find(peer.node.id);
  return seen == seen_bytes_per_s_.end() ? peer.bytes_per_s : seen->second;
}

double KvCosts::SecondsToCompute(uint32_t tokens) const {
  const double rate = seen_tokens_per_s_ > 0 ? seen_tokens_per_s_ : planned_tokens_per_s_;
  return rate > 0 ? tokens / rate : 0;
}

void KvCosts::LearnTransfer(const wire::NodeId& node, double bytes, int64_t duration_ns) {
  if (bytes < kLeastMeasuredBytes || duration_ns <= 0) return;
  seen_bytes_per_s_[node] = bytes * kNsPerSecond / static_cast<double>(duration_ns);
}

void KvCosts::LearnPrefill(uint32_t tokens, int64_t duration_ns) {
  if (tokens < kLeastMeasuredTokens || duration_ns <= 0) return;
  seen_tokens_per_s_ = tokens * 1e9 / static_cast<double>(duration_ns);
}

}  // namespace aster::conduct
