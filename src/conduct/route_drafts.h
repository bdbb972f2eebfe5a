// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Speculative decoding on a route: which node drafts the tokens of a request, which draft tokens
// are sent along with the next token, and what became of them. Must not know frames.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "conduct/live_request.h"
#include "conduct/route_client.h"
#include "engine/proposer.h"
#include "engine/speculation.h"
#include "model/shape.h"
#include "wire/messages.h"

namespace aster::conduct {

// Belongs to one thread. All that it is given outlives it.
class RouteDrafts {
 public:
  // Null `proposers`: none draft on this machine.
  RouteDrafts(const model::Shape& shape, engine::ProposerSource* proposers, const Clock& clock)
      : shape_(shape), proposers_(proposers), clock_(clock) {}

  // What drafts for the request on this machine; null where nothing does, or a stage does.
  Result<std::unique_ptr<engine::Speculation>> SpeculationFor(const engine::Request& request);
  // What the stage with the head is to draft by itself for the request.
  static engine::DraftOptions AtHead(const LiveRequest& live, const RouteClient& route);
  // The most draft tokens to check behind the request's last one, which asks for `wanted`.
  std::vector<int32_t> For(LiveRequest& live, const RouteClient& route, wire::Wanted wanted,
                           uint32_t most) const;
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

 private:
  const model::Shape& shape_;
  engine::ProposerSource* const proposers_;
  const Clock& clock_;
  engine::DraftTimesByKind times_;
};

}  // namespace aster::conduct
