// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/kv_transfer.h"

#include <algorithm>

#include "kernels/pages.h"
#include "kv/layout.h"

namespace aster::conduct {
namespace {

// For an order to arrive and for the rows to be acknowledged: delays of links are not known here.
constexpr double kOrderingS = 0.01;
// The longest prompt that the decode path computes if the times of the paths are not known.
constexpr uint32_t kUnknownDirectTokens = 64;
// After the prefill path has computed a prompt, the rows of at most this many tokens still have to
// be sent.
constexpr double kLastTokens = 256;
// The prefill path is not used if it would be sooner by less than a tenth.
constexpr double kAlmostAsSoon = 1.1;

BytesByNode SumByNode(std::span<const KvTransferOrder> orders) {
  BytesByNode bytes;
  for (const KvTransferOrder& order : orders) bytes[order.from] += order.bytes;
  return bytes;
}

}  // namespace

void KvTransfer::Start(LiveRequest& live) {
  live.phase = RequestPhase::kPrefill;
  live.transfer = {};
  live.decode_path = route_.decode_path();
  live.prefill_path = route_.prefill_path();
  const uint32_t prefilled = live.HeldBy(live.prefill_path);
  const uint32_t decoded = live.HeldBy(live.decode_path);
  // With one path the prompt begins where all stages hold it.
  live.sent = prefilled;
  if (!route_.has_decode_path()) return;
  // The decode path computes prompts that are too short for a transfer, and logits of rows that
  // follow transferred ones, which show the effect of an inexact transfer.
  const bool is_short = !live.logits.is_wanted() && IsSoonerDirect(live, prefilled, decoded);
  const bool shows_rows =
      live.logits.is_wanted() && live.logits.begin() > 0 && decoded >= live.logits.begin();
  if (is_short || shows_rows) {
    live.prefill_path = live.decode_path;
    live.sent = decoded;
  }
  if (!live.is_disaggregated() || live.logits.is_wanted()) return;
  // The prefill path may lack rows that the decode path holds, such as those of the last answer.
  if (decoded > prefilled) Sync(live);
  const bool is_syncing = live.phase == RequestPhase::kSyncing;
  live.sent = is_syncing ? decoded : std::min(prefilled, live.prefill_end());
  // Rows of the prompt go to the decode path as they are computed.
  const auto orders = OrdersOf(live, live.prefill_path, live.decode_path, live.prefill_end(), 1);
  Send(orders);
  double bytes = 0;
  for (const KvTransferOrder& order : orders) bytes += order.bytes;
  live.transfer.prompt_bytes = static_cast<uint64_t>(bytes);
}

// Sends rows that only the decode path holds to the prefill path, if that takes less time than
// computing them again.
void KvTransfer::Sync(LiveRequest& live) {
  const uint32_t prefilled = live.HeldBy(live.prefill_path);
  const uint32_t decoded = live.HeldBy(live.decode_path);
  const auto orders = OrdersOf(live, live.decode_path, live.prefill_path, decoded, 1);
  if (!IsWorthSending(orders, decoded - prefilled)) return;
  Send(orders);
  live.phase = RequestPhase::kSyncing;
  live.transfer.sync_began_ns = clock_.NowNs();
  live.transfer.sync_bytes = SumByNode(orders);
}

void KvTransfer::OnHolds(LiveRequest& live) {
  if (live.phase != RequestPhase::kSyncing || live.HeldBy(live.prefill_path) < live.sent) return;
  live.phase = RequestPhase::kPrefill;
  const int64_t duration_ns = clock_.NowNs() - live.transfer.sync_began_ns;
  for (const auto& [node, bytes] : live.transfer.sync_bytes) {
    costs_.LearnTransfer(node, bytes, duration_ns);
  }
}

void KvTransfer::Advance(LiveRequest& live) const {
  // The prompt is computed except for its last token, which the decode path computes once all rows
  // have arrived.
  const bool is_computed = live.phase == RequestPhase::kPrefill && live.lacks_last_token();
  if (!is_computed || !live.awaits_transfer()) return;
  if (live.HeldBy(live.decode_path) < live.prefill_end()) return;
  live.phase = RequestPhase::kTransferred;
}

void KvTransfer::StartDecode(LiveRequest& live) {
  const bool is_first = live.phase != RequestPhase::kDecode;
  live.phase = RequestPhase::kDecode;
  if (!is_first || !route_.has_decode_path()) return;
  // The prefill path holds the rows that it has computed, which it does not report.
  const Path prefill = route_.prefill_path();
  for (uint32_t stage = prefill.begin; stage < prefill.end && live.is_disaggregated(); ++stage) {
    live.holds[stage] = std::max(live.holds[stage], live.prefill_end());
  }
  if (live.is_disaggregated()) live.transfer.synced_to = live.prefill_end();
  // A stage that decodes by itself knows which draft tokens were right before it sends rows.
  if (!SyncsInParts(live)) Send(OrdersToSync(live, kv::kMaxPositions));
}

bool KvTransfer::SyncsInParts(const LiveRequest& live) const {
  return route_.has_decode_path() && live.phase == RequestPhase::kDecode &&
         !live.IsContinuedBy(live.decode_path);
}

std::vector<KvTransferOrder> KvTransfer::OrdersToSync(const LiveRequest& live, uint32_t end) const {
  return OrdersOf(live, live.decode_path, route_.prefill_path(), end, options_.sync_step);
}

// Orders the next part when the one before has arrived, as an order replaces the one before it.
void KvTransfer::SyncAnswer(LiveRequest& live) {
  const uint32_t end = live.memory->length();
  if (!SyncsInParts(live) || end < live.transfer.synced_to + options_.sync_step) return;
  const auto orders = OrdersToSync(live, end);
  const bool has_arrived = std::ranges::all_of(orders, [&](const KvTransferOrder& order) {
    return order.message.begin >= live.transfer.synced_to;
  });
  if (!has_arrived) return;
  live.transfer.synced_to = end;
  Send(orders);
}

void KvTransfer::SyncRest(LiveRequest& live) {
  const uint32_t end = live.memory->length();
  if (!SyncsInParts(live) || end <= live.transfer.synced_to) return;
  live.transfer.synced_to = end;
  Send(OrdersToSync(live, end));
}

// Whether the first token comes as soon if the decode path computes the prompt, too.
bool KvTransfer::IsSoonerDirect(const LiveRequest& live, uint32_t prefilled,
                                uint32_t decoded) const {
  const uint32_t fresh = live.length() - std::min(live.length(), decoded);
  if (fresh <= 1) return true;
  if (options_.direct_tokens) return fresh <= *options_.direct_tokens;
  const uint32_t held = std::max(prefilled, decoded);
  const uint32_t others = live.length() - 1 - std::min(live.length() - 1, held);
  const double direct_s = costs_.decode().PrefillSeconds(fresh);
  double apart_s = costs_.prefill().PrefillSeconds(std::max(others, 1U));
  if (direct_s <= 0 || apart_s <= 0) return fresh <= kUnknownDirectTokens;
  // First the prefill path gets the rows that it lacks; at the end those of the last part are sent.
  if (decoded > prefilled) {
    const auto orders = OrdersOf(live, route_.decode_path(), route_.prefill_path(), decoded, 1);
    const double computing_s = costs_.prefill().PrefillSeconds(decoded - prefilled);
    const double sending_s = SecondsToSend(orders);
    apart_s += sending_s > 0 ? std::min(sending_s, computing_s) : computing_s;
  }
  if (!costs_.prefill().has_learned()) {
    const auto orders =
        OrdersOf(live, route_.prefill_path(), route_.decode_path(), live.length() - 1, 1);
    apart_s += SecondsToSend(orders) * std::min(1.0, kLastTokens / fresh) + kOrderingS;
  }
  return direct_s <= kAlmostAsSoon * apart_s;
}

// Nodes send at the same time, each at its own rate. 0: a rate is not known, or there are no
// orders.
double KvTransfer::SecondsToSend(std::span<const KvTransferOrder> orders) const {
  double sending_s = 0;
  for (const auto& [node, bytes] : SumByNode(orders)) {
    const double rate = costs_.BytesPerSecond(node);
    if (rate <= 0) return 0;
    sending_s = std::max(sending_s, bytes / rate);
  }
  return sending_s;
}

// Whether sending takes less time than computing. If a rate is not known, a page or more is sent.
bool KvTransfer::IsWorthSending(std::span<const KvTransferOrder> orders, uint32_t count) const {
  const double sending_s = SecondsToSend(orders);
  const double computing_s = costs_.SecondsToCompute(count);
  if (sending_s <= 0 || computing_s <= 0) return count >= kernels::kPagePositions;
  return sending_s + kOrderingS < computing_s;
}

// The transfers up to position `end` between the stages of two paths that have layers in common,
// without rows that the receiving stage holds.
std::vector<KvTransferOrder> KvTransfer::OrdersOf(const LiveRequest& live, Path from, Path to,
                                                  uint32_t end, uint32_t step) const {
  std::vector<KvTransferOrder> orders;
  for (uint32_t source = from.begin; source < from.end; ++source) {
    for (uint32_t target = to.begin; target < to.end; ++target) {
      const plan::PlanStage& a = route_.stages()[source];
      const plan::PlanStage& b = route_.stages()[target];
      const kv::LayerRange layers = {std::max(a.slice.layer_begin, b.slice.layer_begin),
                                     std::min(a.slice.layer_end, b.slice.layer_end)};
      const uint32_t begin = std::min(live.holds.at(target), end);
      // Stages of one node with the same layers share one KV cache, except those of a group.
      const bool is_shared = a.node.id == b.node.id && !a.is_group() && !b.is_group();
      if (layers.begin >= layers.end || is_shared || begin == end) continue;
      orders.push_back({.from = a.node.id,
                        .message = {.route = route_.id(),
                                    .sequence = live.memory->id(),
                                    .epoch = live.epoch,
                                    .layer_begin = layers.begin,
                                    .layer_end = layers.end,
                                    .begin = begin,
                                    .end = end,
                                    .step = step,
                                    .to = b.node.id,
                                    .ticket = route_.TicketOf({source, target})},
                        .bytes = costs_.BytesPerPosition(route_.layout(), layers) * (end - begin)});
    }
  }
  return orders;
}

void KvTransfer::Send(std::span<const KvTransferOrder> orders) {
  for (const KvTransferOrder& order : orders) route_.Send(order.from, order.message);
}

}  // namespace aster::conduct
