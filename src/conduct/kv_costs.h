// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Estimates the times to send KV rows and to compute them, by measured rates, or else by those of
// the plan. Must not know requests, nor messages.
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

  // Bytes of the rows of some layers, as they are sent.
  double BytesPerPosition(const kv::Layout& layout, kv::LayerRange layers) const;
  // The rate at which a node sends to others: that of its transfers, or else as measured before.
  double BytesPerSecond(const wire::NodeId& node) const;
  double BytesPerSecond(const KvPeer& peer) const;
  double SecondsToCompute(uint32_t tokens) const;

  // Transfers of few bytes or tokens are ignored: their times depend on delays more than on rates.
  void LearnTransfer(const wire::NodeId& node, double bytes, int64_t duration_ns);
  void LearnPrefill(uint32_t tokens, int64_t duration_ns);

  // A route with these paths is opened: forecasts start again, one for each path that may compute
  // prompts. A route with one path uses prefill() alone.
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
