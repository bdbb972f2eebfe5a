// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Prefill/decode disaggregation. Decides for each request of a route which path computes its
// prompt, which KV rows the prefill path and the decode path send each other, and when the request
// may continue. It orders transfers; the nodes send rows to each other. Must not know frames, nor
// what nodes off the route hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "conduct/kv_costs.h"
#include "conduct/live_request.h"
#include "conduct/route_client.h"
#include "wire/messages.h"

namespace aster::conduct {

struct KvTransferOptions {
  // The decode path prefills prompts of at most this many new tokens; nothing: prompts for which
  // its first token is expected as soon as with the prefill path.
  std::optional<uint32_t> direct_tokens = std::nullopt;
  uint32_t sync_step = 32;  // tokens of an answer that KV sync sends in one message
};

// Rows that a stage of one path holds and one of the other lacks.
struct KvTransferOrder {
  wire::NodeId from;
  wire::SendKv message;
  double bytes = 0;
};

// The transfers of one route, which outlives it, as do the costs. A route with one path has none.
class KvTransfer {
 public:
  KvTransfer(RouteClient& route, KvCosts& costs, const Clock& clock,
             const KvTransferOptions& options)
      : route_(route), costs_(costs), clock_(clock), options_(options) {}

  // All stages have replied what they hold: chooses the paths of the request and where its prompt
  // begins, and orders the necessary transfers. Its phase becomes kSyncing or kPrefill.
  void Start(LiveRequest& live);
  // A stage holds more of a request in kSyncing. Its phase becomes kPrefill once the prefill path
  // has all rows that it lacked.
  void OnHolds(LiveRequest& live);
  // Sets kTransferred if the prompt is computed and the decode path has it.
  void Advance(LiveRequest& live) const;
  // A segment that asks for the next token is about to be sent: the phase becomes kDecode. From now
  // on KV sync sends the answer's rows to the prefill path, for the next turn.
  void StartDecode(LiveRequest& live);
  // A token of an answer came. A stage that gets a segment for each token may hold rows of wrong
  // draft tokens, so it is told which rows KV sync may send.
  void SyncAnswer(LiveRequest& live);
  // The answer is over: such stages are told to send its last rows.
  void SyncRest(LiveRequest& live);

 private:
  void Sync(LiveRequest& live);
  bool SyncsInParts(const LiveRequest& live) const;
  std::vector<KvTransferOrder> OrdersToSync(const LiveRequest& live, uint32_t end) const;
  std::vector<KvTransferOrder> OrdersOf(const LiveRequest& live, Path from, Path to, uint32_t end,
                                        uint32_t step) const;
  bool IsSoonerDirect(const LiveRequest& live, uint32_t prefilled, uint32_t decoded) const;
  double SecondsToSend(std::span<const KvTransferOrder> orders) const;
  bool IsWorthSending(std::span<const KvTransferOrder> orders, uint32_t count) const;
  void Send(std::span<const KvTransferOrder> orders);

  RouteClient& route_;
  KvCosts& costs_;
  const Clock& clock_;
  const KvTransferOptions options_;
};

}  // namespace aster::conduct
