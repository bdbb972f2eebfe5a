// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/live_request.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace aster::conduct {

LiveRequest::LiveRequest(engine::RequestId id, engine::Request asked,
                         const text::Tokenizer* tokenizer, uint32_t vocab_size, kernels::Isa isa,
                         RouteMemory* kept, int64_t now_ns)
    : request(id, std::move(asked), tokenizer, vocab_size, isa, now_ns),
      memory(kept),
      stops(std::make_shared<const std::vector<int32_t>>(request.request().stop_tokens)) {}

bool LiveRequest::IsContinuedBy(Path path) const {
  const engine::Request& asked = request.request();
  return path.size() == 1 && asked.edit_logits == nullptr &&
         asked.draft.kind != engine::DraftKind::kModel;
}

LiveRequest::Verdict LiveRequest::FollowChain(int32_t token) {
  chain.has_ended = false;
  if (chain.tokens.empty()) return Verdict::kNone;
  const bool is_accepted = chain.tokens.front() == token;
  chain.tokens.erase(chain.tokens.begin(),
                     is_accepted ? chain.tokens.begin() + 1 : chain.tokens.end());
  pace.Learn(is_accepted);
  return is_accepted ? Verdict::kAccepted : Verdict::kRejected;
}

wire::Wanted LiveRequest::WantedAfter(uint32_t end) const {
  if (logits.is_wanted()) return logits.WantedOf(end == length());
  if (end < length() || !wants_token()) return wire::Wanted::kNothing;
  return request.request().edit_logits ? wire::Wanted::kLastLogits : wire::Wanted::kToken;
}

uint32_t LiveRequest::TokensAfterNext() const {
  const uint64_t by_count = request.request().max_tokens - request.generated();
  const uint64_t by_context = request.request().context_limit - length();
  const uint64_t left = std::max<uint64_t>(std::min(by_count, by_context), 1);
  return static_cast<uint32_t>(std::min<uint64_t>(left - 1, std::numeric_limits<uint32_t>::max()));
}

uint32_t LiveRequest::HeldBy(Path path) const {
  uint32_t least = length();
  for (uint32_t stage = path.begin; stage < path.end; ++stage) {
    const auto held = holds.find(stage);
    least = std::min(least, held == holds.end() ? 0 : held->second);
  }
  return least;
}

void LiveRequest::TakeHolds(const wire::Holds& message) {
  const bool is_ours =
      message.length <= history->length() && history->HashAt(message.length) == message.hash;
  holds[message.stage] = is_ours ? message.length : 0;
}

void LiveRequest::Suspend() {
  phase = RequestPhase::kWaiting;
  in_flight = 0;
  chain = {};
  request.turns() = {};
}

}  // namespace aster::conduct
