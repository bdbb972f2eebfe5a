// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The frames of a conductor: what goes to the stages, and what comes back from them.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "conduct/conductor.h"
#include "conduct/live_request.h"

namespace aster::conduct {
namespace {

// So many for each stage, at the end of a prompt, are cut into pages. More of them would cost more
// than they save: weights are read once a frame.
constexpr uint64_t kLastFrames = 1;

}  // namespace

// --- What goes.

// Where one stage has all layers it goes on by itself, token after token: nobody waits for the way
// between. (What the caller edits or looks at comes here first.)
bool Conductor::GoesOnByItself(const Live& live) const {
  const engine::Request& request = live.request.request();
  // Whoever guesses by a model of its own is here, too.
  const bool guesses_here = request.draft.kind == engine::DraftKind::kModel;
  return DecodingPath().size() == 1 && request.edit_logits == nullptr && !guesses_here;
}

// Whoever guesses here; null where nobody does, or the stage that goes on by itself.
Result<std::unique_ptr<engine::Speculation>> Conductor::SpeculationFor(
    const engine::Request& request) {
  std::unique_ptr<engine::Speculation> none;
  switch (request.draft.kind) {
    case engine::DraftKind::kNone:
      return none;
    case engine::DraftKind::kNextTokens:
      if (model_.shape.next_layers > 0) return none;
      return FailedPrecondition(
          "this model has no block that guesses the tokens behind the next: draft with ngram, or "
          "with a smaller model");
    case engine::DraftKind::kNgram:
      if (options_.proposers == nullptr) return none;
      break;
    case engine::DraftKind::kModel:
      if (options_.proposers != nullptr) break;
      return FailedPrecondition("nobody is there who could guess ahead: ask for other guesses");
  }
  return std::make_unique<engine::Speculation>(
      TRY(options_.proposers->Make(request)), request.draft, model_.shape.vocab_size,
      engine::DraftWatch{.clock = &network_.clock(), .times = &draft_times_});
}

// What is sent beside the next token, for the last stage to check.
std::vector<int32_t> Conductor::DraftsFor(Live& live, wire::Wanted wanted, uint32_t most) const {
  engine::Speculation* const speculation = live.request.speculation();
  // Rows that prove wrong must not be handed over.
  const bool is_disaggregated = has_two_paths() && DecodingPath().size() > 1;
  if (wanted != wire::Wanted::kToken || is_disaggregated || !live.takes_drafts || !TakesDrafts())
    return {};
  const uint32_t room = std::min(live.request.DraftRoom(), most);
  if (speculation == nullptr) {
    if (live.offered_at != live.length()) return {};
    live.offered.resize(std::min<size_t>(live.offered.size(), room));
    return std::move(live.offered);
  }
  const auto guess = speculation->Guess(live.request.sequence().tokens(), room);
  return {guess.begin(), guess.end()};
}

// Stages work on different sequences at the same time: as many groups are under way as there are
// stages, and each is as small as that allows.
void Conductor::SendDecodes() {
  const Path path = DecodingPath();
  std::vector<FrameItem> ready;
  size_t decoding = 0;
  for (const auto& live : running_) {
    if (!live->is_ready_to_decode() || live->waits_for_rows || !HasRows(*live)) continue;
    if (has_two_paths() && live->sink != nullptr) {
      SendFrame(std::array{FrameItem{live.get(), 1}}, /*is_decode=*/true,
                live->reads_for_others ? ReadingPath() : path);
    } else if (GoesOnByItself(*live)) {
      SendFrame(std::array{FrameItem{live.get(), 1}}, /*is_decode=*/true, path);
    } else {
      ready.push_back({live.get(), 1});
    }
  }
  for (const auto& [number, frame] : frames_) decoding += frame.is_decode ? frame.open : 0;
  decoding += ready.size();
  const size_t stages = path.size();
  const size_t group = (decoding + stages - 1) / stages;
  for (size_t begin = 0; begin < ready.size(); begin += group) {
    if (stages > 1 && decode_frames_ >= stages) return;
    const size_t count = std::min(group, ready.size() - begin);
    SendFrame(std::span(ready).subspan(begin, count), /*is_decode=*/true, path);
  }
}

void Conductor::SendPrefills() {
  std::vector<Path> paths{ReadingPath()};
  if (has_two_paths()) paths.push_back(DecodingPath());
  for (const Path path : paths) {
    const size_t window = path.size() * options_.frames_per_stage;
    while (prefill_frames_[path.begin] < window) {
      const std::vector<FrameItem> items = PlanPrefill(path);
      if (items.empty()) break;
      SendFrame(items, /*is_decode=*/false, path);
    }
  }
}

// Frames are short where few are left: of F frames through S stages a stage has something to do for
// F of F + S - 1 turns, and the last turns are the longest, as they look back the furthest.
uint32_t Conductor::PagesOfFrame(std::span<const FrameItem> items, Path path) const {
  const size_t stages = path.size();
  if (stages == 1) return options_.chunk_pages;
  uint64_t left = 0;
  for (const FrameItem& item : items) left += item.live->read_end() - item.live->sent;
  const uint64_t full = uint64_t{options_.chunk_pages} * page_positions_;
  return left > kLastFrames * stages * full ? options_.chunk_pages : 1;
}

// Pages in turn, beginning behind the one who had the last page before, so that long prompts and
// short ones come forward alike.
std::vector<Conductor::FrameItem> Conductor::PlanPrefill(Path path) {
  const bool is_reading = path.begin == ReadingPath().begin;
  std::vector<FrameItem> items;
  for (const auto& live : running_) {
    const bool is_of_path = !has_two_paths() || live->reads_for_others == is_reading;
    if (live->has_prefill() && is_of_path && !live->waits_for_rows) {
      items.push_back({live.get(), 0});
    }
  }
  std::ranges::rotate(items, std::ranges::find_if(items, [this](const FrameItem& item) {
                        return item.live->request.id() > last_prefilled_;
                      }));
  uint32_t budget = PagesOfFrame(items, path) * page_positions_;
  for (bool has_grown = true; has_grown && budget > 0;) {
    has_grown = false;
    for (FrameItem& item : items) {
      const uint32_t begin = item.live->sent + item.count;
      const uint32_t left = item.live->read_end() - begin;
      uint32_t count = std::min(left, page_positions_ - begin % page_positions_);
      if (item.live->sink != nullptr) {
        count = std::min(count, item.live->sink_chunk - item.count);
      }
      if (count == 0 || count > budget) continue;
      item.count += count;
      budget -= count;
      has_grown = true;
      last_prefilled_ = item.live->request.id();
    }
  }
  std::erase_if(items, [](const FrameItem& item) { return item.count == 0; });
  return items;
}

void Conductor::SendFrame(std::span<const FrameItem> items, bool is_decode, Path path) {
  const uint64_t frame = ++last_frame_;
  std::vector<TracedSegment> traced;
  wire::Work work;
  work.route = route_->id();
  work.encoding = options_.route.encoding;
  work.first_stage = path.begin;
  for (const FrameItem& item : items) {
    Live& live = *item.live;
    const uint32_t begin = live.sent;
    const uint32_t end = begin + item.count;
    wire::Wanted wanted = wire::Wanted::kNothing;
    if (live.sink != nullptr) {
      wanted = wire::Wanted::kAllLogits;
    } else if (end == live.length() && live.wants_token()) {
      wanted =
          live.request.request().edit_logits ? wire::Wanted::kLastLogits : wire::Wanted::kToken;
    }
    uint32_t more = 0;
    if (wanted == wire::Wanted::kToken && GoesOnByItself(live)) more = live.TokensToFollow();
    std::vector<int32_t> drafts;
    if (is_decode && more == 0) {
      const auto index = static_cast<size_t>(&item - items.data());
      drafts = DraftsFor(live, wanted, engine::DraftShare(items.size(), index));
    }
    const std::vector<int32_t>& history = live.request.sequence().tokens();
    std::vector<int32_t> tokens(history.begin() + begin, history.begin() + end);
    tokens.insert(tokens.end(), drafts.begin(), drafts.end());
    const uint64_t attempt = ++last_attempt_;
    work.segments.push_back({.sequence = live.memory->id(),
                             .attempt = attempt,
                             .begin = begin,
                             .tokens = std::move(tokens),
                             .before = live.history->HashAt(begin),
                             .after = kv::ExtendPrefixHash(live.history->HashAt(end), drafts),
                             .wanted = wanted,
                             .more = more,
                             .draft_count = static_cast<uint32_t>(drafts.size())});
    flights_[attempt] = {.live = &live,
                         .begin = begin,
                         .end = end,
                         .wanted = wanted,
                         .frame = frame,
                         .more = more,
                         .is_halted = false,
                         .first_stage = path.begin,
                         .stops = live.stops,
                         .drafts = std::move(drafts)};
    const bool answers = wanted == wire::Wanted::kToken || wanted == wire::Wanted::kLastLogits;
    if (answers && has_two_paths()) SyncKv(live);
    live.sent = end;
    if (options_.trace != nullptr) traced.push_back({live.memory->id(), begin, end});
    ++live.in_flight;
  }
  EnterFrame(frame, {.open = items.size(),
                     .is_decode = is_decode,
                     .first_stage = path.begin,
                     .sent_ns = network_.clock().NowNs()});
  if (options_.trace != nullptr) {
    options_.trace->Send(frame, is_decode, std::move(traced), network_.clock().NowNs(), path.begin);
  }
  route_->SendWork(std::move(work));
}

// --- What comes.

// The segment is not under way any more.
Conductor::Flight Conductor::Land(uint64_t attempt) {
  const auto found = flights_.find(attempt);
  CHECK(found != flights_.end());
  const Flight flight = found->second;
  flights_.erase(found);
  LeaveFrame(flight.frame);
  if (flight.live != nullptr) --flight.live->in_flight;
  return flight;
}

void Conductor::EnterFrame(uint64_t number, const FrameInFlight& frame) {
  if (frames_.empty()) work_began_ns_ = network_.clock().NowNs();
  frames_[number] = frame;
  ++(frame.is_decode ? decode_frames_ : prefill_frames_[frame.first_stage]);
  ++counters_.frames;
}

void Conductor::LeaveFrame(uint64_t number) {
  const auto frame = frames_.find(number);
  if (--frame->second.open > 0) return;
  --(frame->second.is_decode ? decode_frames_ : prefill_frames_[frame->second.first_stage]);
  if (options_.trace != nullptr) options_.trace->Land(number, network_.clock().NowNs());
  frames_.erase(frame);
  if (frames_.empty()) worked_ns_ += network_.clock().NowNs() - work_began_ns_;
}

// The answer goes on by itself, or as was guessed: the segment's next token is under way.
void Conductor::Follow(uint64_t attempt) {
  Flight& flight = flights_.at(attempt);
  if (flight.more > 0) {
    --flight.more;
  } else {
    ++flight.accepted;
  }
  flight.begin = flight.end++;
  if (flight.live != nullptr) flight.live->sent = flight.end;
  LeaveFrame(flight.frame);
  flight.frame = ++last_frame_;
  EnterFrame(flight.frame,
             {.open = 1, .is_decode = true, .first_stage = flight.first_stage, .sent_ns = 0});
  if (options_.trace != nullptr && flight.live != nullptr) {
    options_.trace->Send(flight.frame, /*is_decode=*/true,
                         {{flight.live->memory->id(), flight.begin, flight.end}},
                         network_.clock().NowNs(), flight.first_stage);
  }
}

void Conductor::OnHolds(const wire::NodeId& from, const wire::Holds& holds) {
  if (holds.route != route_->id()) return;
  heard_ns_ = network_.clock().NowNs();
  if (TakeHoldsOfMove(from, holds)) return;
  if (holds.attempt != 0) {
    if (!flights_.contains(holds.attempt)) return;
    const Flight flight = Land(holds.attempt);
    if (flight.live == nullptr) return;
    if (flight.drafts.empty()) return Refused(*flight.live, holds.why);
    // Nobody gives way to guesses: it is asked again without.
    flight.live->takes_drafts = false;
    ++counters_.refused;
    return BeginRequest(*flight.live);
  }
  const auto found = std::ranges::find_if(running_, [&](const auto& live) {
    return live->memory->id() == holds.sequence && live->epoch == holds.epoch &&
           live->phase != Live::Phase::kWaiting;
  });
  if (found == running_.end() || holds.stage >= route_->stages().size() ||
      route_->stages()[holds.stage].node.id != from) {
    return;
  }
  Live& live = **found;
  const bool is_beginning = live.phase == Live::Phase::kBeginning;
  const bool is_fetching = live.phase == Live::Phase::kFetching;
  if (is_fetching && !holds.why.message().empty()) return GiveUpFetching(live);
  if (!holds.why.message().empty()) {
    if (!is_beginning && !NeedsRowsOf(live, holds.stage)) return;  // the next turn sees to it
    if (holds.why.code() == Code::kResourceExhausted) return MakeRoom(live, holds.why);
    return is_beginning ? Fail(live, holds.why) : Refused(live, holds.why);
  }
  // What is held of another history is worth nothing.
  const bool is_ours =
      holds.length <= live.history->length() && live.history->HashAt(holds.length) == holds.hash;
  live.holds[holds.stage] = is_ours ? holds.length : 0;
  if (is_beginning && live.holds.size() == route_->stages().size()) return StartRunning(live);
  if (is_fetching) return TakeFetched(live);
  if (!live.waits_for_rows || HeldBy(live, ReadingPath()) < live.sent) return;
  live.waits_for_rows = false;
  LearnKvRates(live);
}

size_t Conductor::RowsOf(const Flight& flight) const {
  switch (flight.wanted) {
    case wire::Wanted::kNothing:
    case wire::Wanted::kToken:
      return 0;
    case wire::Wanted::kLastLogits:
      return 1;
    case wire::Wanted::kAllLogits:
      return flight.end - flight.begin;
  }
  return 0;
}

// Whether it answers what was asked.
Status Conductor::CheckDone(const wire::Done& done) const {
  size_t rows = 0;
  std::vector<uint64_t> seen;
  for (const wire::SegmentResult& answer : done.results) {
    const auto found = flights_.find(answer.attempt);
    if (found == flights_.end() || std::ranges::count(seen, answer.attempt) > 0) {
      return DataLoss(fmt::format("an answer to work {} that nobody asked for", answer.attempt));
    }
    seen.push_back(answer.attempt);
    const Flight& flight = found->second;
    rows += RowsOf(flight);
    const bool has_token =
        answer.token >= 0 && static_cast<uint32_t>(answer.token) < model_.shape.vocab_size;
    if (answer.end != flight.end ||
        (flight.wanted == wire::Wanted::kToken && !answer.has_failed && !has_token)) {
      return DataLoss(fmt::format("work up to position {} was answered by token {} at {}",
                                  flight.end, answer.token, answer.end));
    }
  }
  const size_t bytes = rows * model_.shape.vocab_size * sizeof(float);
  if (done.logits.size() != bytes) {
    return DataLoss(
        fmt::format("{} bytes of logits came, and {} were asked for", done.logits.size(), bytes));
  }
  return Ok();
}

void Conductor::OnDone(const wire::NodeId& from, const wire::Done& done, int64_t arrived_ns) {
  const std::vector<plan::PlanStage>& stages = route_->stages();
  const bool is_last =
      from == stages[ReadingPath().end - 1].node.id || from == stages.back().node.id;
  if (done.route != route_->id() || !is_last) return;
  heard_ns_ = network_.clock().NowNs();
  Status checked = CheckDone(done);
  if (!checked.ok()) {
    return route_->Break(std::move(checked).error().In(fmt::format("node {}", from.ToText())));
  }
  CountHops(done, arrived_ns != 0 ? arrived_ns : heard_ns_);
  const auto* logits = reinterpret_cast<const float*>(done.logits.data());
  for (const wire::SegmentResult& answer : done.results) {
    const bool goes_on = GoesOn(answer);
    const Flight flight = goes_on ? flights_.at(answer.attempt) : Land(answer.attempt);
    if (flight.live != nullptr) CountDrafts(flight, answer, goes_on);
    if (goes_on) Follow(answer.attempt);
    const size_t count = RowsOf(flight) * model_.shape.vocab_size;
    if (flight.live != nullptr) TakeAnswer(flight, answer, {logits, count});
    logits += count;
  }
}

// What became of guesses: of those that were made here, when the last of them is known, and of a
// stage's own as it tells.
void Conductor::CountDrafts(const Flight& flight, const wire::SegmentResult& answer, bool goes_on) {
  Live& live = *flight.live;
  if (live.request.generated() == 0 ||
      live.request.request().draft.kind == engine::DraftKind::kNone) {
    return;
  }
  engine::Speculation* const speculation = live.request.speculation();
  if (speculation == nullptr || GoesOnByItself(live)) {
    live.request.CountDrafts({.drafted = answer.drafted,
                              .accepted = answer.is_accepted ? uint64_t{1} : 0,
                              .steps = answer.is_accepted ? uint64_t{0} : 1});
  } else if (!goes_on) {
    speculation->Learn(static_cast<uint32_t>(flight.drafts.size()), flight.accepted);
  }
}

// Whether a stage goes on behind it without being asked.
bool Conductor::GoesOn(const wire::SegmentResult& answer) const {
  const Flight& flight = flights_.at(answer.attempt);
  const bool is_accepted =
      flight.accepted < flight.drafts.size() && flight.drafts[flight.accepted] == answer.token;
  if ((flight.more == 0 && !is_accepted) || answer.has_failed) return false;
  if (flight.stops == nullptr) return true;
  return std::ranges::count(*flight.stops, answer.token) == 0;
}

void Conductor::CountHops(const wire::Done& done, int64_t arrived_ns) {
  if (options_.trace != nullptr && !done.results.empty()) {
    // All of its answers are of one frame.
    const auto flight = flights_.find(done.results.front().attempt);
    if (flight != flights_.end()) options_.trace->Done(flight->second.frame, done.hops, arrived_ns);
  }
  if (done.results.empty()) return;
  const Flight& flight = flights_.at(done.results.front().attempt);
  const uint32_t first = flight.first_stage;
  for (size_t i = 0; i < done.hops.size() && first + i < hops_.size(); ++i) {
    HopTotals& totals = hops_[first + i];
    ++totals.frames;
    totals.queue_ns += done.hops[i].queue_ns;
    totals.compute_ns += done.hops[i].compute_ns;
    totals.bytes_out += done.hops[i].bytes_out;
  }
  const int64_t sent_ns = std::exchange(frames_.at(flight.frame).sent_ns, 0);
  if (sent_ns == 0 || arrived_ns <= sent_ns) return;
  TracedFrame frame{.sent_ns = sent_ns,
                    .ended_ns = arrived_ns,
                    .segments = {},
                    .hops = done.hops,
                    .first_stage = first};
  for (wire::Hop& hop : frame.hops) {
    // None took longer than all of it, whatever it says.
    hop.queue_ns = std::min(hop.queue_ns, static_cast<uint64_t>(arrived_ns - sent_ns));
    hop.compute_ns = std::min(hop.compute_ns, static_cast<uint64_t>(arrived_ns - sent_ns));
  }
  std::vector<StageSpan> spans;
  PlaceFrame(frame, /*index=*/0, spans);
  for (const StageSpan& span : spans) {
    if (span.stage >= hops_.size()) break;
    hops_[span.stage].send_ns +=
        static_cast<uint64_t>(std::max<int64_t>(0, span.delivered_ns - span.ended_ns));
  }
}

std::vector<HopTotals> Conductor::hops() const {
  const int64_t now_ns = network_.clock().NowNs();
  const auto worked_ns =
      static_cast<uint64_t>(worked_ns_ + (frames_.empty() ? 0 : now_ns - work_began_ns_));
  std::vector<HopTotals> hops = hops_;
  for (HopTotals& hop : hops) hop.idle_ns = worked_ns - std::min(worked_ns, hop.compute_ns);
  return hops;
}

void Conductor::TakeAnswer(const Flight& flight, const wire::SegmentResult& answer,
                           std::span<const float> logits) {
  Live& live = *flight.live;
  if (live.request.cancelled()) return;  // by another one's callback, a moment ago
  // A segment before this one was refused, and that is on its way to us.
  if (flight.begin != live.memory->length()) return;
  live.memory->SetLength(flight.end);
  live.refusals = 0;
  failures_ = 0;
  const uint32_t count = flight.end - flight.begin;
  (live.request.generated() == 0 ? counters_.prefill_tokens : counters_.decode_tokens) += count;
  live.request.Advance(count);
  const bool is_read = live.reads_for_others && flight.end == live.read_end();
  if (is_read && live.request.generated() == 0) live.read_ns = network_.clock().NowNs();
  if (live.sink != nullptr) TakeRows(live, flight, logits);
  if (flight.wanted == wire::Wanted::kToken || flight.wanted == wire::Wanted::kLastLogits) {
    return TakeToken(live, flight, answer, logits);
  }
  if (!live.sink_status.ok()) return Fail(live, live.sink_status.error());
  if (live.request.pending_count() > 0) return;
  live.request.End(engine::FinishReason::kLength);
  Remove(live);
}

void Conductor::TakeToken(Live& live, const Flight& flight, const wire::SegmentResult& answer,
                          std::span<const float> logits) {
  const int64_t now_ns = network_.clock().NowNs();
  bool is_last;
  if (flight.wanted == wire::Wanted::kLastLogits) {
    is_last = live.request.TakeLogits(logits, now_ns);
  } else if (answer.has_failed) {
    is_last = live.request.TakeChoice(answer.why, now_ns);
  } else {
    engine::Choice choice{.id = answer.token, .logprob = answer.logprob};
    for (const wire::LogitOf& top : answer.top) choice.top.push_back({top.id, top.logprob});
    is_last = live.request.TakeChoice(std::move(choice), now_ns);
  }
  if (const int64_t read_ns = std::exchange(live.read_ns, 0); read_ns != 0) {
    ++counters_.transferred_prompts;
    counters_.exposed_ns += now_ns - read_ns;
    counters_.transferred_bytes += live.transfer_bytes;
  }
  if (is_last) return Remove(live);
  constexpr uint32_t kWorthMeasuring = 128;
  const uint32_t computed = live.length() - 1 - std::min(live.length() - 1, live.started_at);
  if (live.request.generated() == 1 && computed >= kWorthMeasuring && now_ns > live.started_ns) {
    prefill_rate_ = computed * 1e9 / static_cast<double>(now_ns - live.started_ns);
  }
  live.history->Append(std::span(live.request.sequence().tokens()).last(1));
  const bool are_tokens = std::ranges::all_of(answer.drafts, [this](int32_t guess) {
    return guess >= 0 && static_cast<uint32_t>(guess) < model_.shape.vocab_size;
  });
  live.offered = are_tokens ? answer.drafts : std::vector<int32_t>();
  live.offered_at = live.length();
  if (live.request.generated() == 1) TracePhase(live, "answering");
}

void Conductor::TakeRows(Live& live, const Flight& flight, std::span<const float> logits) {
  const size_t width = model_.shape.vocab_size;
  for (uint32_t row = flight.begin; row < flight.end && live.sink_status.ok(); ++row) {
    if (row < live.rows_told) continue;  // told before its route broke
    live.sink_status = (*live.sink)(logits.subspan((row - flight.begin) * width, width));
    ++live.rows_told;
  }
}

}  // namespace aster::conduct
