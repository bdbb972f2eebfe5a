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
  // A stage drafts where it decodes by itself, or by the model's block beside the head.
  const bool has_drafter = live.IsContinuedBy(route.decode_path()) ||
                           request.draft.kind == engine::DraftKind::kNextTokens;
  const bool is_known = request.edit_logits ? route.TakesDraftsAhead() : route.TakesDrafts();
  if (!has_drafter || !is_known) return {.most = 0};
  return request.draft;
}

std::vector<int32_t> RouteDrafts::For(LiveRequest& live, const RouteClient& route,
                                      wire::Wanted wanted, uint32_t most) const {
  // Rows of draft tokens that prove wrong must not be sent to other nodes, as the decode path's
  // are.
  const bool are_rows_sent = route.has_decode_path() && route.decode_path().size() > 1;
  const bool is_allowed = live.drafting == LiveRequest::Drafting::kAllowed;
  const bool is_known = wanted == wire::Wanted::kToken        ? route.TakesDrafts()
                        : wanted == wire::Wanted::kLastLogits ? route.TakesDraftsAhead()
                                                              : false;
  if (!is_allowed || !is_known || are_rows_sent) return {};
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

void RouteDrafts::TakeStageDrafts(LiveRequest& live, std::span<const int32_t> drafts,
                                  uint32_t from) const {
  const std::span<const int32_t> text = live.request.sequence().tokens();
  const std::span<const int32_t> known = text.subspan(std::min<size_t>(from, text.size()));
  const bool are_tokens = std::ranges::all_of(drafts, [this](int32_t token) {
    return token >= 0 && static_cast<uint32_t>(token) < shape_.vocab_size;
  });
  live.stage_drafts = {.tokens = {}, .length = live.length()};
  if (!are_tokens || drafts.size() < known.size()) return;
  if (!std::ranges::equal(known, drafts.first(known.size()))) return;
  const auto behind = drafts.subspan(known.size());
  live.stage_drafts.tokens.assign(behind.begin(), behind.end());
}

void RouteDrafts::Count(LiveRequest& live, const wire::SegmentResult& result,
                        const Outcome& outcome) {
  const bool is_first = live.request.generated() == 0;
  if (is_first || live.request.request().draft.kind == engine::DraftKind::kNone) return;
  engine::Speculation* const speculation = live.request.speculation();
  if (speculation == nullptr && outcome.was_edited) {
    // The stage that drafted does not know what was chosen here.
    live.request.CountDrafts(
        {.drafted = outcome.drafted, .accepted = outcome.accepted, .steps = 1});
  } else if (speculation == nullptr || live.IsContinuedBy(live.decode_path)) {
    // A stage drafted, and says with each token what it did.
    live.request.CountDrafts({.drafted = result.drafted,
                              .accepted = result.is_accepted ? uint64_t{1} : 0,
                              .steps = result.is_accepted ? uint64_t{0} : 1});
  } else if (!outcome.continues) {
    speculation->Learn(outcome.drafted, outcome.accepted);
  }
}

}  // namespace aster::conduct
