// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Where others answer than read: who reads what is new, and which rows go from one path to the
// other, before the answer and while it is made.

#include <algorithm>
#include <map>
#include <utility>

#include "conduct/conductor.h"
#include "conduct/live_request.h"

namespace aster::conduct {
namespace {

// To be asked for rows, and to say that they have come: the ways' delays are not known here.
constexpr double kAskingS = 0.01;
// Less says more about delays than about rates.
constexpr double kLeastMeasuredBytes = 1 << 20;

}  // namespace

// Who reads what is new, and where they begin.
void Conductor::ChooseReaders(Live& live) {
  const uint32_t read = HeldBy(live, ReadingPath());
  live.read_ns = 0;
  live.transfer_bytes = 0;
  live.reads_for_others = live.waits_for_rows = live.rows_due = live.syncs_kv = false;
  live.sent = read;
  if (!has_two_paths()) return;
  const uint32_t decoded = HeldBy(live, DecodingPath());
  live.sent = decoded;
  if (live.sink != nullptr) {
    // Logits of every row come from those who read, but for what begins behind their rows.
    live.reads_for_others = live.sink_begin == 0 || decoded < live.sink_begin;
    live.sent = live.reads_for_others ? read : decoded;
    return;
  }
  const uint32_t left = live.length() - decoded;
  if (left <= std::max(options_.direct_tokens, 1U)) return;
  live.reads_for_others = live.rows_due = true;
  if (decoded > read) {
    const auto orders = OrdersOf(live, DecodingPath(), ReadingPath(), decoded, 1);
    live.waits_for_rows = IsWorthSending(live, orders, decoded - read);
    if (live.waits_for_rows) OrderTransfers(orders);
    live.waits_since_ns = network_.clock().NowNs();
    live.returning.clear();
    for (const KvTransferOrder& order : orders) live.returning[order.from] += order.bytes;
  }
  live.sent = live.waits_for_rows ? decoded : std::min(read, live.read_end());
  const auto orders = OrdersOf(live, ReadingPath(), DecodingPath(), live.read_end(), 1);
  OrderTransfers(orders);
  double bytes = 0;
  for (const KvTransferOrder& order : orders) bytes += order.bytes;
  live.transfer_bytes = static_cast<uint64_t>(bytes);
}

// Whether readers get the rows of so many tokens sooner than they compute them. Where that is not
// known, a page and more is worth a message.
bool Conductor::IsWorthSending(const Live& live, std::span<const KvTransferOrder> orders,
                               uint32_t count) const {
  // Givers give at the same time; a way is as fast as its giver's.
  std::map<wire::NodeId, double> leaving;
  for (const KvTransferOrder& order : orders) leaving[order.from] += order.bytes;
  double sending_s = 0;
  bool is_known = !leaving.empty();
  for (const auto& [node, bytes] : leaving) {
    const double rate = KvRateOf(live, node);
    is_known = is_known && rate > 0;
    if (rate > 0) sending_s = std::max(sending_s, bytes / rate);
  }
  const double computing_s = SecondsToCompute(count);
  if (!is_known || computing_s <= 0) return count >= page_positions_;
  return sending_s + kAskingS < computing_s;
}

// Readers have got what they waited for.
void Conductor::LearnKvRates(const Live& live) {
  const int64_t waited_ns = network_.clock().NowNs() - live.waits_since_ns;
  for (const auto& [node, bytes] : live.returning) {
    if (bytes < kLeastMeasuredBytes || waited_ns <= 0) continue;
    kv_rates_[node] = bytes * kNsPerSecond / static_cast<double>(waited_ns);
  }
}

// Whether those who answer have got all that others have read.
bool Conductor::HasRows(Live& live) {
  if (live.rows_due && HeldBy(live, DecodingPath()) >= live.read_end()) live.rows_due = false;
  return !live.rows_due;
}

// Whether it cannot go on without rows that the stage gets from elsewhere.
bool Conductor::NeedsRowsOf(const Live& live, uint32_t stage) const {
  return has_two_paths() && (stage >= DecodingPath().begin ? live.rows_due : live.waits_for_rows);
}

// Those who read get the rows of the answer while it is made, for the turn after it.
void Conductor::SyncKv(Live& live) {
  if (std::exchange(live.syncs_kv, true)) return;
  const Path readers = ReadingPath();
  for (uint32_t stage = readers.begin; stage < readers.end && live.reads_for_others; ++stage) {
    live.holds[stage] = std::max(live.holds[stage], live.read_end());
  }
  OrderTransfers(
      OrdersOf(live, DecodingPath(), ReadingPath(), kv::kMaxPositions, options_.kv_sync_step));
}

std::vector<Conductor::KvTransferOrder> Conductor::OrdersOf(const Live& live, Path from, Path to,
                                                            uint32_t end, uint32_t step) const {
  std::vector<KvTransferOrder> orders;
  for (uint32_t source = from.begin; source < from.end; ++source) {
    for (uint32_t target = to.begin; target < to.end; ++target) {
      const plan::PlanStage& a = route_->stages()[source];
      const plan::PlanStage& b = route_->stages()[target];
      const uint32_t layer_begin = std::max(a.slice.layer_begin, b.slice.layer_begin);
      const uint32_t layer_end = std::min(a.slice.layer_end, b.slice.layer_end);
      const uint32_t begin = std::min(live.holds.at(target), end);
      // A node's stages of the same layers remember together.
      if (layer_begin >= layer_end || a.node.id == b.node.id || begin == end) continue;
      orders.push_back({.from = a.node.id,
                        .message = {.route = route_->id(),
                                    .sequence = live.memory->id(),
                                    .epoch = live.epoch,
                                    .layer_begin = layer_begin,
                                    .layer_end = layer_end,
                                    .begin = begin,
                                    .end = end,
                                    .step = step,
                                    .to = b.node.id,
                                    .ticket = 0},
                        .bytes = BytesPerPosition({layer_begin, layer_end}) * (end - begin)});
    }
  }
  return orders;
}

void Conductor::OrderTransfers(std::span<const KvTransferOrder> orders) {
  for (const KvTransferOrder& order : orders) route_->Send(order.from, order.message);
}

}  // namespace aster::conduct
