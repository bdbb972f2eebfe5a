// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What sending KV rows takes, and what computing them takes: the rates that were seen, or else
// those that were planned with. Must not know requests, nor messages.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "conduct/kv_holdings.h"
#include "conduct/path_forecast.h"
#include "kv/layout.h"
#include "wire/messages.h"

namespace aster::conduct {

// Bytes that nodes send, by node.
using BytesByNode = std::map<wire::NodeId, double>;

// Nodes that may hold KV rows, with the rates that were measured before.
using KvPeerList = std::function<std::vector<KvPeer>()>;

// Belongs to one thread. Rates and times of 0 are not known.
class KvCosts {
 public:
  // `peers` may be null.
  KvCosts(wire::RowEncoding kv_encoding, double planned_tokens_per_s, KvPeerList peers)
      : kv_encoding_(kv_encoding),
        planned_tokens_per_s_(planned_tokens_per_s),
        peers_(std::move(peers)) {}

  // Of the rows of some layers, as they travel.
  double BytesPerPosition(const kv::Layout& layout, kv::LayerRange layers) const;
  // Of a node, towards others: as it was seen, or else as it was measured before.
  double BytesPerSecond(const wire::NodeId& node) const;
  double BytesPerSecond(const KvPeer& peer) const;
  double SecondsToCompute(uint32_t tokens) const;

  // Too few bytes or tokens say more about delays than about rates: nothing is learnt of them.
  void LearnTransfer(const wire::NodeId& node, double bytes, int64_t duration_ns);
  void LearnPrefill(uint32_t tokens, int64_t duration_ns);

  // Whole prompts, by the path that computes them: the prefill path, or the decode path. Where a
  // route has one path, that is the prefill path. What was learnt is another route's from now on.
  void OpenRoute(const PlannedPath& prefill, const PlannedPath& decode) {
    prefill_.emplace(prefill);
    decode_.emplace(decode);
  }
  PathForecast& prefill() { return *prefill_; }
  PathForecast& decode() { return *decode_; }
  const PathForecast& prefill() const { return *prefill_; }
  const PathForecast& decode() const { return *decode_; }

 private:
  const wire::RowEncoding kv_encoding_;
  const double planned_tokens_per_s_;
  const KvPeerList peers_;
  std::map<wire::NodeId, double> seen_bytes_per_s_;
  double seen_tokens_per_s_ = 0;
  std::optional<PathForecast> prefill_{std::in_place};
  std::optional<PathForecast> decode_{std::in_place};
};

}  // namespace aster::conduct
