// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/route_drafts.h"

#include <algorithm>
#include <utility>

namespace aster::conduct {

Result<std::unique_ptr<engine::Speculation>> RouteDrafts::SpeculationFor(
    const engine::Request& request) {
  std::unique_ptr<engine::Speculation> none;
  switch (request.draft.kind) {
    case engine::DraftKind::kNone:
      return none;
    case engine::DraftKind::kNextTokens:
      if (shape_.next_layers > 0) return none;
      return FailedPrecondition(
          "this model has no MTP block: draft with ngram, or with a smaller model");
    case engine::DraftKind::kNgram:
      if (proposers_ == nullptr) return none;
      break;
    case engine::DraftKind::kModel:
      if (proposers_ != nullptr) break;
      return FailedPrecondition("no draft model is loaded here: draft with ngram or mtp");
  }
  return std::make_unique<engine::Speculation>(
      TRY(proposers_->Make(request)), request.draft, shape_.vocab_size,
      engine::DraftWatch{.clock = &clock_, .times = &times_});
}

engine::DraftOptions RouteDrafts::AtHead(const LiveRequest& live, const RouteClient& route) {
  const engine::Request& request = live.request.request();
  // A stage drafts where it decodes by itself, or by the model's block beside the head; but not
  // where each token is chosen by the caller.
  const bool has_drafter = live.IsContinuedBy(route.decode_path()) ||
                           request.draft.kind == engine::DraftKind::kNextTokens;
  if (!has_drafter || request.edit_logits || !route.TakesDrafts()) return {.most = 0};
  return request.draft;
}

std::vector<int32_t> RouteDrafts::For(LiveRequest& live, const RouteClient& route,
                                      wire::Wanted wanted, uint32_t most) const {
  // Rows of draft tokens that prove wrong must not be sent to other nodes, as the decode path's
  // are.
  const bool are_rows_sent = route.has_decode_path() && route.decode_path().size() > 1;
  const bool is_allowed = live.drafting == LiveRequest::Drafting::kAllowed && route.TakesDrafts();
  if (wanted != wire::Wanted::kToken || are_rows_sent || !is_allowed) return {};
  const uint32_t room = std::min(live.request.DraftRoom(), most);
  if (engine::Speculation* const speculation = live.request.speculation()) {
    const auto drafts = speculation->Propose(live.request.sequence().tokens(), room);
    return {drafts.begin(), drafts.end()};
  }
  StageDrafts& drafts = live.stage_drafts;
  if (drafts.length != live.length()) return {};
  drafts.tokens.resize(std::min<size_t>(drafts.tokens.size(), room));
  return std::move(drafts.tokens);
}

void RouteDrafts::TakeStageDrafts(LiveRequest& live, const std::vector<int32_t>& drafts) const {
  const bool are_tokens = std::ranges::all_of(drafts, [this](int32_t token) {
    return token >= 0 && static_cast<uint32_t>(token) < shape_.vocab_size;
  });
  live.stage_drafts = {.tokens = are_tokens ? drafts : std::vector<int32_t>(),
                       .length = live.length()};
}

void RouteDrafts::Count(LiveRequest& live, const wire::SegmentResult& result,
                        const Outcome& outcome) {
  const bool is_first = live.request.generated() == 0;
  if (is_first || live.request.request().draft.kind == engine::DraftKind::kNone) return;
  engine::Speculation* const speculation = live.request.speculation();
  if (speculation == nullptr || live.IsContinuedBy(live.decode_path)) {
    // A stage drafted, and says with each token what it did.
    live.request.CountDrafts({.drafted = result.drafted,
                              .accepted = result.is_accepted ? uint64_t{1} : 0,
                              .steps = result.is_accepted ? uint64_t{0} : 1});
  } else if (!outcome.continues) {
    speculation->Learn(outcome.drafted, outcome.accepted);
  }
}

}  // namespace aster::conduct
