// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Speculative decoding on a route: which node drafts the tokens of a request, which draft tokens
// are sent along with the next token, and what became of them. Must not know frames.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/typical.h"
#include "conduct/draft_pace.h"
#include "conduct/frame_times.h"
#include "conduct/live_request.h"
#include "conduct/route_client.h"
#include "engine/draft_account.h"
#include "engine/proposer.h"
#include "engine/speculation.h"
#include "model/shape.h"
#include "wire/messages.h"

namespace aster::conduct {

// Belongs to one thread. All that it is given outlives it.
class RouteDrafts {
 public:
  // Null `proposers`: none draft on this machine.
  // `times`: what frames take on the route; is told how long it is from one to the next.
  RouteDrafts(const model::Shape& shape, engine::ProposerSource* proposers, const Clock& clock,
              FrameTimes& times)
      : shape_(shape), proposers_(proposers), clock_(clock), frame_times_(times) {}

  // What drafts for the request on this machine; null where nothing does, or a stage does.
  Result<std::unique_ptr<engine::Speculation>> SpeculationFor(const engine::Request& request);
  // What the stage with the head is to draft by itself for the request.
  static engine::DraftOptions AtHead(const LiveRequest& live, const RouteClient& route);
  // The most draft tokens to check behind the request's last one, which asks for `wanted`.
  std::vector<int32_t> For(LiveRequest& live, const RouteClient& route, wire::Wanted wanted,
                           uint32_t most);
  // Where those are none: tokens that the stage may decode by itself before it is asked again,
  // behind the next one.
  static uint32_t PlainBehindNext(const LiveRequest& live);
  // The draft tokens of one more frame, behind those that are in flight.
  std::vector<int32_t> Ahead(LiveRequest& live, const RouteClient& route);
  // A request begins with what was seen of others with the same drafter.
  DraftPace PaceFor(const engine::Request& request) const;
  // The newest token has come: what is in flight was right so far, or is of no use.
  void FollowChain(LiveRequest& live);
  // The stage with the head says what it drafts from position `from` on. Where the text goes
  // further already, it has to agree.
  void TakeStageDrafts(LiveRequest& live, std::span<const int32_t> drafts, uint32_t from) const;

  // A token came of a segment with `drafted` draft tokens, of which `accepted` were right so far;
  // `continues`: there are more tokens to come of it; `was_edited`: they were chosen here.
  struct Outcome {
    uint32_t drafted = 0;
    uint32_t accepted = 0;
    bool continues = false;
    bool was_edited = false;
  };
  static void Count(LiveRequest& live, const wire::SegmentResult& result, const Outcome& outcome);
  // The same for the segment whose token, chosen here, ended the request.
  static void CountLast(LiveRequest& live, size_t drafted, uint32_t accepted);

 private:
  bool IsPaced(const LiveRequest& live, const RouteClient& route) const;
  DraftPace::Limits LimitsOf(LiveRequest& live, const RouteClient& route) const;
  void LearnGap(const LiveRequest& live, double draft_ns, int64_t now_ns);
  void SettleRun(const LiveRequest& live, double draft_ns, int64_t now_ns);
  void SettlePlain(const DraftChain& chain, size_t kind, double tokens, double run_ns);
  bool IsLosing(const LiveRequest& live) const;
  std::vector<int32_t> Propose(LiveRequest& live, uint32_t most);
  static bool CatchesUp(const LiveRequest& live);
  void NoteDrafting(LiveRequest& live, size_t count, int64_t duration_ns);

  const model::Shape& shape_;
  engine::ProposerSource* const proposers_;
  const Clock& clock_;
  FrameTimes& frame_times_;
  engine::DraftTimesByKind times_;
  // By DraftKind: of a drafter here, for a token and for the first after a pause.
  static constexpr size_t kKinds = std::tuple_size_v<engine::DraftTimesByKind>;
  std::array<Typical, kKinds> draft_ns_;
  std::array<double, kKinds> try_ns_ = {};
  std::array<bool, kKinds> has_begun_ = {};
  std::array<AcceptanceRate, kKinds> rates_;
  // What they have lost, beside times of a token without draft tokens.
  std::array<engine::DraftAccount, kKinds> accounts_;
  std::array<Typical, kKinds> plain_ns_;
};

}  // namespace aster::conduct
