// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/answer.h"

#include <algorithm>
#include <span>

namespace aster::ensemble {

// In the order of the policies.
const std::vector<std::string>& PolicyNames() {
  static const std::vector<std::string> names = {"choose", "spans", "bytes", "auto"};
  return names;
}

std::string_view PolicyName(Policy policy) { return PolicyNames()[static_cast<size_t>(policy)]; }

std::optional<Policy> PolicyCalled(std::string_view name) {
  const auto found = std::ranges::find(PolicyNames(), name);
  if (found == PolicyNames().end()) return std::nullopt;
  return static_cast<Policy>(found - PolicyNames().begin());
}

void AddUsage(const respond::Usage& usage, respond::Usage& total) {
  total.prompt += usage.prompt;
  total.cached += usage.cached;
  total.answer += usage.answer;
  total.reasoning += usage.reasoning;
  total.drafted += usage.drafted;
  total.accepted += usage.accepted;
  total.times.waited_ns = std::max(total.times.waited_ns, usage.times.waited_ns);
  total.times.prefill_ns = std::max(total.times.prefill_ns, usage.times.prefill_ns);
  total.times.decode_ns = std::max(total.times.decode_ns, usage.times.decode_ns);
}

void AddCounts(const engine::RequestCounts& counts, engine::RequestCounts& total) {
  total.prompt += counts.prompt;
  total.cached += counts.cached;
  total.generated += counts.generated;
  total.replayed += counts.replayed;
  total.drafts += counts.drafts;
}

uint64_t ComputedTokens(const engine::RequestCounts& counts) {
  // The last token of an answer is not computed.
  return counts.prompt - counts.cached + std::max<uint64_t>(counts.generated, 1) - 1 +
         counts.replayed;
}

void Tell(const Answer& answer, respond::Listener& listener) {
  for (const AnswerPiece& piece : std::span(answer.pieces).subspan(answer.sent_pieces))
    listener.OnPiece({.text = piece.text, .events = piece.events, .tokens = piece.tokens});
  engine::Finish finish = answer.answered.generated.finish;
  finish.times = answer.usage.times;
  listener.OnEnd({.finish = finish, .reason = answer.reason, .usage = answer.usage});
}

}  // namespace aster::ensemble
