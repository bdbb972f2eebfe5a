// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/route_drafts.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace aster::conduct {
namespace {

// Tokens that a drafter reads in addition to its own without taking longer.
constexpr uint32_t kFewTokens = 8;
// A run of frames that takes longer than this many times the expected time was held up by something
// else.
constexpr double kHeldUp = 2;
// Drafting that takes less than this part of a frame's time is hidden behind the frame.
constexpr double kHidden = 0.25;
// The time that draft tokens have saved pays for starting to draft in this many answers at most.
constexpr double kMostBeginnings = 4;

}  // namespace

Result<std::unique_ptr<engine::Speculation>> RouteDrafts::SpeculationFor(
    const engine::Request& request) {
  std::unique_ptr<engine::Speculation> none;
  switch (request.draft.kind) {
    case engine::DraftKind::kNone:
      return none;
    case engine::DraftKind::kMtp:
      if (drafts_at_head_) return none;
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
      engine::DraftTiming{.clock = &clock_, .times = &times_});
}

engine::DraftOptions RouteDrafts::AtHead(const LiveRequest& live, const RouteClient& route) {
  const engine::Request& request = live.request.request();
  // The stage drafts if it decodes by itself, or with the model's MTP block.
  const bool has_drafter =
      live.IsContinuedBy(route.decode_path()) || request.draft.kind == engine::DraftKind::kMtp;
  const bool is_known = request.edit_logits ? route.TakesDraftsAhead() : route.TakesDrafts();
  if (!has_drafter || !is_known) return {.most = 0};
  return request.draft;
}

std::vector<int32_t> RouteDrafts::For(LiveRequest& live, const RouteClient& route,
                                      wire::Wanted wanted, uint32_t most) {
  const bool is_allowed = live.drafting == LiveRequest::Drafting::kAllowed;
  const bool is_known = wanted == wire::Wanted::kToken        ? route.TakesDrafts()
                        : wanted == wire::Wanted::kLastLogits ? route.TakesDraftsAhead()
                                                              : false;
  if (!is_allowed || !is_known) return {};
  live.chain.is_paced = IsPaced(live, route);
  const uint32_t room = std::min(live.request.DraftRoom(), most);
  if (live.chain.is_paced) {
    const int64_t now_ns = clock_.NowNs();
    const DraftPace::Limits limits = LimitsOf(live, route);
    LearnGap(live, limits.draft_ns, now_ns);
    SettleRun(live, limits.draft_ns, now_ns);
    DraftChain& chain = live.chain;
    chain.tokens.clear();
    chain.step = live.pace.Next(frame_times_, limits);
    chain.asked_ns = chain.ahead_ns = chain.once_ns = 0;
    std::vector<int32_t> drafts = Propose(live, std::min(room, chain.step.rows - 1));
    chain.asked_ns = std::exchange(chain.ahead_ns, 0);
    chain.sent_ns = now_ns;
    chain.length = live.length();
    chain.rows = 1 + static_cast<uint32_t>(drafts.size());
    chain.ahead = 0;
    return drafts;
  }
  if (engine::Speculation* const speculation = live.request.speculation()) {
    const auto drafts = speculation->Propose(live.request.sequence().tokens(), room);
    return {drafts.begin(), drafts.end()};
  }
  StageDrafts& drafts = live.stage_drafts;
  if (drafts.length != live.length()) return {};
  drafts.tokens.resize(std::min<size_t>(drafts.tokens.size(), room));
  return std::exchange(drafts.tokens, {});
}

// If the frame before gave only one token, its draft tokens were all wrong: the time beyond what
// FirstNs predicts is the gap until the next frame.
void RouteDrafts::LearnGap(const LiveRequest& live, double draft_ns, int64_t now_ns) {
  const DraftChain& chain = live.chain;
  const bool is_one_token = chain.sent_ns > 0 && live.length() == chain.length + 1;
  if (!is_one_token || !chain.is_alone || !frame_times_.is_known()) return;
  const DraftPace::Step step{.rows = chain.rows, .frames = 1 + chain.ahead};
  const double way_ns = FirstNs(step, frame_times_.Of(step.rows), draft_ns);
  frame_times_.LearnGap(static_cast<double>(now_ns - chain.sent_ns) - way_ns, chain.ahead > 0);
}

// Compares the time of the frames since the last decision with that of as many tokens without draft
// tokens. Only if the request was alone: otherwise both depend on other requests.
void RouteDrafts::SettleRun(const LiveRequest& live, double draft_ns, int64_t now_ns) {
  const DraftChain& chain = live.chain;
  if (chain.sent_ns == 0 || !chain.is_alone || live.length() <= chain.length) return;
  const auto kind = static_cast<size_t>(live.request.request().draft.kind);
  const double tokens = live.length() - chain.length;
  const double run_ns = static_cast<double>(now_ns - chain.sent_ns) - chain.once_ns;
  if (chain.rows == 1 && chain.ahead == 0) return SettlePlain(chain, kind, tokens, run_ns);
  const double plain_ns = plain_ns_[kind].value();
  if (plain_ns <= 0) return;
  const DraftPace::Step step{.rows = chain.rows,
                             .frames = std::min(1 + chain.ahead, chain.step.frames)};
  const FrameTimes::Times frame = frame_times_.Of(chain.rows);
  const double expected_ns = WrongNs(step, frame, draft_ns) +
                             NextNs(step, frame, draft_ns) * std::ceil(tokens / chain.rows - 1);
  const double most_ns = kHeldUp * expected_ns + chain.asked_ns + chain.ahead_ns - chain.once_ns;
  const double beginnings = kMostBeginnings * try_ns_[kind] / plain_ns;
  accounts_[kind].AddDrafted(tokens, std::min(run_ns, most_ns) / plain_ns, beginnings);
}

// The same for frames without draft tokens. If the drafter proposed none, its time before the frame
// is lost, and its time after it unless that was hidden behind the frame.
void RouteDrafts::SettlePlain(const DraftChain& chain, size_t kind, double tokens, double run_ns) {
  Typical& plain = plain_ns_[kind];
  const double asked_ns = std::max(chain.asked_ns + chain.ahead_ns - chain.once_ns, 0.0);
  const bool is_hidden = chain.ahead_ns < kHidden * plain.value();
  if (is_hidden || !plain.is_known()) {
    plain.Add(std::max((run_ns - (is_hidden ? chain.asked_ns : asked_ns)) / tokens, 1.0));
  }
  accounts_[kind].AddPlain(tokens);
  const double lost_ns = is_hidden ? std::min(chain.asked_ns, asked_ns) : asked_ns;
  accounts_[kind].AddDrafted(0, lost_ns / plain.value());
}

// Whether the current run of frames has lost more time than it may.
bool RouteDrafts::IsLosing(const LiveRequest& live) const {
  const DraftChain& chain = live.chain;
  const auto kind = static_cast<size_t>(live.request.request().draft.kind);
  if (!chain.is_alone || !plain_ns_[kind].is_known()) return false;
  const auto run_ns = static_cast<double>(clock_.NowNs() - chain.sent_ns);
  // The token that is being computed is not late yet.
  const double tokens = 1 + live.length() - chain.length;
  return !accounts_[kind].CanPay(run_ns / plain_ns_[kind].value() - tokens);
}

uint32_t RouteDrafts::PlainAfterNext(const LiveRequest& live) {
  const engine::Speculation* const speculation = live.request.speculation();
  if (live.decode_path.size() != 1 || speculation == nullptr) return 0;
  return std::min(live.TokensAfterNext(), speculation->StepsWithoutDrafts() - 1);
}

bool RouteDrafts::IsPaced(const LiveRequest& live, const RouteClient& route) const {
  const bool has_drafter = live.request.request().draft.kind != engine::DraftKind::kNone;
  return has_drafter && live.decode_path.size() > 1 && route.TakesDraftsAhead();
}

DraftPace::Limits RouteDrafts::LimitsOf(LiveRequest& live, const RouteClient& route) const {
  const engine::DraftOptions& draft = live.request.request().draft;
  const auto kind = static_cast<size_t>(draft.kind);
  // The MTP block beside the head proposes at most `most` tokens after a token; other drafters can
  // continue after their draft tokens.
  const uint32_t most = std::min(draft.most, engine::kMostDrafts);
  const bool is_beside_head = live.request.speculation() == nullptr;
  const uint32_t most_tokens = is_beside_head ? most : route.layout().slack() / 2;
  const engine::DraftAccount& account = accounts_[kind];
  const bool can_pay = account.CanPay(0);
  return {.most_rows = most + 1,
          .most_frames = draft.frames,
          .most_tokens = 1 + (can_pay ? std::min(most_tokens, live.request.DraftRoom()) : 0),
          .draft_ns = draft_ns_[kind].value(),
          .try_ns = try_ns_[kind],
          .begin_ns = CatchesUp(live) ? try_ns_[kind] : 0,
          .most_loss = account.credit()};
}

std::vector<int32_t> RouteDrafts::Ahead(LiveRequest& live, const RouteClient& route) {
  if (!live.chain.is_paced || live.drafting != LiveRequest::Drafting::kAllowed) return {};
  if (IsLosing(live)) return {};
  const auto in_flight = static_cast<uint32_t>(live.chain.tokens.size());
  const uint32_t most = std::min(live.request.DraftRoom(), LimitsOf(live, route).most_tokens - 1);
  return Propose(live, std::min(live.chain.step.rows, most - std::min(most, in_flight)));
}

// At most `most` draft tokens after those that are in flight.
std::vector<int32_t> RouteDrafts::Propose(LiveRequest& live, uint32_t most) {
  std::vector<int32_t> drafts;
  const std::vector<int32_t>& chain = live.chain.tokens;
  if (most == 0) return drafts;
  if (engine::Speculation* const speculation = live.request.speculation()) {
    std::vector<int32_t> text = live.request.sequence().tokens();
    text.insert(text.end(), chain.begin(), chain.end());
    const int64_t begin_ns = clock_.NowNs();
    const auto proposed = speculation->Extend(text, most);
    drafts.assign(proposed.begin(), proposed.end());
    const int64_t spent_ns = clock_.NowNs() - begin_ns;
    live.chain.ahead_ns += static_cast<double>(spent_ns);
    NoteDrafting(live, drafts.size(), spent_ns);
  } else if (live.stage_drafts.length == live.length()) {
    const std::span<const int32_t> known = live.stage_drafts.tokens;
    const bool is_same =
        known.size() > chain.size() && std::ranges::equal(chain, known.first(chain.size()));
    if (is_same) {
      const auto behind = known.subspan(chain.size());
      const auto taken = behind.first(std::min<size_t>(behind.size(), most));
      drafts.assign(taken.begin(), taken.end());
    }
  }
  live.request.CountDrafts({.drafted = drafts.size(), .accepted = 0, .steps = 0});
  return drafts;
}

// Whether the drafter has to read more of the text before it can draft, after a pause.
bool RouteDrafts::CatchesUp(const LiveRequest& live) {
  return live.request.speculation() != nullptr && live.length() > live.drafted_to + kFewTokens;
}

void RouteDrafts::NoteDrafting(LiveRequest& live, size_t count, int64_t duration_ns) {
  const auto kind = static_cast<size_t>(live.request.request().draft.kind);
  const bool catches_up = CatchesUp(live);
  live.drafted_to = live.length();
  const auto spent_ns = static_cast<double>(duration_ns);
  DraftChain& chain = live.chain;
  // The first draft of this kind allocates the drafter's memory, and the second one touches it for
  // the first time. Their times are not repeated, so they are not learned.
  if (!has_begun_[kind]) {
    has_begun_[kind] = true;
    chain.once_ns += spent_ns;
  } else if (catches_up) {
    try_ns_[kind] = spent_ns;
  } else if (try_ns_[kind] <= 0) {
    try_ns_[kind] = 1;
    chain.once_ns += spent_ns;
  } else if (count > 0) {
    const auto drafts = static_cast<double>(count);
    draft_ns_[kind].Add(spent_ns / drafts);
    // Time beyond that was not the drafter's.
    chain.once_ns += std::max(spent_ns - kHeldUp * drafts * draft_ns_[kind].value(), 0.0);
  }
}

DraftPace RouteDrafts::PaceFor(const engine::Request& request) const {
  return DraftPace(rates_[static_cast<size_t>(request.draft.kind)].value());
}

void RouteDrafts::FollowChain(LiveRequest& live) {
  const std::vector<int32_t>& text = live.request.sequence().tokens();
  if (engine::Speculation* const speculation = live.request.speculation()) {
    speculation->Follow(text, static_cast<uint32_t>(text.size() - 1), /*hidden=*/{});
  }
  const auto verdict = live.FollowChain(text.back());
  const bool is_accepted = verdict == LiveRequest::Verdict::kAccepted;
  if (verdict != LiveRequest::Verdict::kNone) {
    rates_[static_cast<size_t>(live.request.request().draft.kind)].Learn(is_accepted);
  }
  // The first token after a prompt was not drafted.
  if (!live.chain.is_paced || live.request.generated() <= 1) return;
  live.request.CountDrafts(
      {.drafted = 0, .accepted = is_accepted ? 1U : 0U, .steps = is_accepted ? 0U : 1U});
}

void RouteDrafts::TakeStageDrafts(LiveRequest& live, std::span<const int32_t> drafts,
                                  uint32_t from) const {
  const std::span<const int32_t> text = live.request.sequence().tokens();
  const std::span<const int32_t> known = text.subspan(std::min<size_t>(from, text.size()));
  const bool are_tokens = std::ranges::all_of(drafts, [this](int32_t token) {
    return token >= 0 && static_cast<uint32_t>(token) < shape_.vocab_size;
  });
  // If the stage sent none, the older ones continue if they begin with the newest token.
  StageDrafts& older = live.stage_drafts;
  if (drafts.empty() && older.length + 1 == live.length() && !older.tokens.empty() &&
      older.tokens.front() == text.back()) {
    older.tokens.erase(older.tokens.begin());
    older.length = live.length();
    return;
  }
  older = {.tokens = {}, .length = live.length()};
  if (!are_tokens || drafts.size() < known.size()) return;
  if (!std::ranges::equal(known, drafts.first(known.size()))) return;
  const auto behind = drafts.subspan(known.size());
  live.stage_drafts.tokens.assign(behind.begin(), behind.end());
}

void RouteDrafts::Count(LiveRequest& live, const wire::SegmentResult& result,
                        const Outcome& outcome) {
  const bool is_first = live.request.generated() == 0;
  // Draft tokens of a chain are counted by Propose and FollowChain.
  if (is_first || live.chain.is_paced ||
      live.request.request().draft.kind == engine::DraftKind::kNone)
    return;
  engine::Speculation* const speculation = live.request.speculation();
  if (speculation == nullptr && outcome.was_edited) {
    // The stage that drafted does not know the tokens that were chosen here.
    live.request.CountDrafts(
        {.drafted = outcome.drafted, .accepted = outcome.accepted, .steps = 1});
  } else if (speculation == nullptr || live.IsContinuedBy(live.decode_path)) {
    // A stage drafted, and reports it with each token.
    live.request.CountDrafts({.drafted = result.drafted,
                              .accepted = result.is_accepted ? uint64_t{1} : 0,
                              .steps = result.is_accepted ? uint64_t{0} : 1});
  } else if (!outcome.continues || outcome.drafted == 0) {
    speculation->Learn(outcome.drafted, outcome.accepted);
  }
}

void RouteDrafts::CountLast(LiveRequest& live, size_t drafted, uint32_t accepted) {
  if (live.request.generated() <= 1) return;
  Count(live, {},
        {.drafted = static_cast<uint32_t>(drafted), .accepted = accepted, .was_edited = true});
}

}  // namespace aster::conduct
