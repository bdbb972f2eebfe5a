// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Speculative decoding on a route: which node drafts the tokens of a request, which draft tokens
// are sent along with the next token, and how many were accepted. Must not know frames.
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
#include "model/shape/shape.h"
#include "wire/messages.h"

namespace aster::conduct {

// Belongs to one thread. The arguments of its constructor outlive it.
class RouteDrafts {
 public:
  // `drafts_at_head`: whether the model has a drafter of its own, beside its head.
  // `proposers`: the drafters of this machine; null: none.
  // `times`: the times of the route's frames; it learns the gaps between frames from here.
  RouteDrafts(const model::Shape& shape, bool drafts_at_head, engine::ProposerSource* proposers,
              const Clock& clock, FrameTimes& times)
      : shape_(shape),
        drafts_at_head_(drafts_at_head),
        proposers_(proposers),
        clock_(clock),
        frame_times_(times) {}

  // The drafter for the request on this machine; null if a stage drafts, or nothing does.
  Result<std::unique_ptr<engine::Speculation>> SpeculationFor(const engine::Request& request);
  // How the stage with the head drafts for the request by itself.
  static engine::DraftOptions AtHead(const LiveRequest& live, const RouteClient& route);
  // At most `most` draft tokens to send after the last token of the request, in a segment that asks
  // for `wanted`.
  std::vector<int32_t> For(LiveRequest& live, const RouteClient& route, wire::Wanted wanted,
                           uint32_t most);
  // If there are none: how many tokens the stage may decode by itself after the next one, before it
  // gets another segment.
  static uint32_t PlainAfterNext(const LiveRequest& live);
  // Draft tokens for one more frame, after those that are in flight.
  std::vector<int32_t> Ahead(LiveRequest& live, const RouteClient& route);
  // The pace that a request begins with: that of earlier requests with the same drafter.
  DraftPace PaceFor(const engine::Request& request) const;
  // The newest token has come: if the chain begins with it, the chain continues, else it is
  // dropped.
  void FollowChain(LiveRequest& live);
  // The stage with the head has sent draft tokens for positions from `from` on. They are used only
  // if they agree with the tokens that the text has there by now.
  void TakeStageDrafts(LiveRequest& live, std::span<const int32_t> drafts, uint32_t from) const;

  // A token of a segment came. The segment has `drafted` draft tokens, of which `accepted` were
  // right so far; `continues`: more of its tokens will come; `was_edited`: tokens are chosen here.
  struct Outcome {
    uint32_t drafted = 0;
    uint32_t accepted = 0;
    bool continues = false;
    bool was_edited = false;
  };
  static void Count(LiveRequest& live, const wire::SegmentResult& result, const Outcome& outcome);
  // The same for a segment whose token was chosen here and ended the request.
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
  const bool drafts_at_head_;
  engine::ProposerSource* const proposers_;
  const Clock& clock_;
  FrameTimes& frame_times_;
  engine::DraftTimesByKind times_;
  // By DraftKind: how long a drafter here takes for a token, and for the first one after a pause.
  static constexpr size_t kKinds = std::tuple_size_v<engine::DraftTimesByKind>;
  std::array<Typical, kKinds> draft_ns_;
  std::array<double, kKinds> try_ns_ = {};
  std::array<bool, kKinds> has_begun_ = {};
  std::array<AcceptanceRate, kKinds> rates_;
  // By DraftKind: the account of lost time, and times of a token without draft tokens.
  std::array<engine::DraftAccount, kKinds> accounts_;
  std::array<Typical, kKinds> plain_ns_;
};

}  // namespace aster::conduct
