// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Prefill/decode disaggregation: KV rows of requests between the prefill path and the decode path
// of a route: which path computes a prompt, which rows are sent where, and when a request may go
// on. Conductors order transfers; the nodes send rows to each other. Must not know frames, nor what
// nodes off the route hold.
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
  // The decode path prefills prompts of at most this many new tokens; nothing: those that it
  // computes as soon, by what either path is expected to take.
  std::optional<uint32_t> direct_tokens = std::nullopt;
  uint32_t sync_step = 32;  // tokens of an answer that are worth a message
};

// Rows that a stage of one path holds and one of the other lacks.
struct KvTransferOrder {
  wire::NodeId from;
  wire::SendKv message;
  double bytes = 0;
};

// Of one route, which outlives it, as do the costs. Where the route has one path nothing is sent.
class KvTransfer {
 public:
  KvTransfer(RouteClient& route, KvCosts& costs, const Clock& clock,
             const KvTransferOptions& options)
      : route_(route), costs_(costs), clock_(clock), options_(options) {}

  // All stages have said what they hold: chooses the paths of the request and where its prompt
  // begins, and orders the transfers that this takes. Its phase is kSyncing or kPrefill then.
  void Start(LiveRequest& live);
  // A stage holds more of a request in kSyncing: kPrefill once the prefill path has what it lacked.
  void OnHolds(LiveRequest& live);
  // kTransferred where the prompt is computed and the decode path has it.
  void Advance(LiveRequest& live) const;
  // A segment that asks for the next token is about to be sent: kDecode. From now on the prefill
  // path is sent the new rows, for the turn after this one, while the answer is made.
  void StartDecode(LiveRequest& live);
  // A token of an answer came. Where the stages are asked for each token, they may hold rows of
  // draft tokens that will prove wrong, and are told which rows to send.
  void SyncAnswer(LiveRequest& live);
  // The answer is over: likewise of its last rows.
  void SyncRest(LiveRequest& live);

  // Whether the request cannot go on without rows that the stage gets from another one.
  bool IsAwaitedBy(const LiveRequest& live, uint32_t stage) const;

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
