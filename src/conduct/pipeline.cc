// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"

namespace aster::conduct {
namespace {

// More than any stage takes for a frame, and sends; and so little that sums cannot overflow.
constexpr uint64_t kLongestHopNs = 3600 * kNsPerSecond;
constexpr uint64_t kMostHopBytes = uint64_t{1} << 40;

// The hops as a path of so many stages can have them: times from other machines are not trusted.
std::vector<wire::Hop> PlausibleHops(std::vector<wire::Hop> hops, size_t stages) {
  hops.resize(std::min(hops.size(), stages));
  for (wire::Hop& hop : hops) {
    hop.bytes_out = std::min(hop.bytes_out, kMostHopBytes);
    hop.gather_bytes = std::min(hop.gather_bytes, kMostHopBytes);
    for (uint64_t* const ns :
         {&hop.queue_ns, &hop.compute_ns, &hop.gather_ns, &hop.gather_send_ns}) {
      *ns = std::min(*ns, kLongestHopNs);
    }
  }
  return hops;
}

}  // namespace

size_t Segment::row_count() const {
  switch (wanted) {
    case wire::Wanted::kNothing:
    case wire::Wanted::kToken:
      return 0;
    case wire::Wanted::kLastLogits:
      return 1 + drafts.size();
    case wire::Wanted::kLastState:
      return 1;
    case wire::Wanted::kAllLogits:
    case wire::Wanted::kAllStates:
      return end - begin;
  }
  return 0;
}

// --- Sending.

void Pipeline::Send(const Frame& frame) {
  // One message to the first stage of the path, from which each stage makes that of the next one.
  wire::Work work;
  work.route = at_.route.id();
  work.encoding = at_.encoding;
  work.first_stage = frame.path.begin;
  std::vector<TracedSegment> traced;
  ++at_.numbers.frame;
  for (size_t i = 0; i < frame.items.size(); ++i) {
    const wire::WorkSegment& segment = work.segments.emplace_back(StartSegment(frame, i));
    traced.push_back({segment.sequence, segment.begin,
                      segment.begin + static_cast<uint32_t>(segment.tokens.size()),
                      segment.draft_count});
  }
  uint32_t tokens = 0;
  for (const wire::WorkSegment& segment : work.segments) {
    tokens += static_cast<uint32_t>(segment.tokens.size());
  }
  AddFrame({.open = frame.items.size(),
            .tokens = frame.is_decode ? 0 : tokens,
            .is_decode = frame.is_decode,
            .rows = frame.is_decode ? tokens : 0,
            .path = frame.path,
            .sent_ns = at_.clock.NowNs()},
           std::move(traced));
  at_.route.SendWork(std::move(work));
}

// Makes a segment of the newest frame from the next tokens of a request.
wire::WorkSegment Pipeline::StartSegment(const Frame& frame, size_t index) {
  LiveRequest& live = *frame.items[index].live;
  const uint32_t begin = live.sent;
  const uint32_t end = begin + frame.items[index].count;
  const wire::Wanted wanted = live.WantedAfter(end);
  // The result may have more tokens than the next one: those that the stage decodes by itself
  // (`more`), or else accepted draft tokens (`drafts`).
  const bool is_continued = wanted == wire::Wanted::kToken && live.IsContinuedBy(live.decode_path);
  uint32_t more = is_continued ? live.TokensAfterNext() : 0;
  std::vector<int32_t> drafts;
  if (frame.is_decode && more == 0) {
    const bool is_alone = IsAlone(frame);
    live.chain.is_alone &= is_alone;
    const uint32_t most = engine::DraftShare(frame.items.size(), index);
    drafts = at_.drafts.For(live, at_.route, wanted, most);
    live.chain.is_alone = is_alone;
    if (drafts.empty() && wanted == wire::Wanted::kToken) more = RouteDrafts::PlainAfterNext(live);
  }
  // The tokens, then the draft tokens. By the hashes of the history before and after them stages
  // check that they continue their KV cache.
  const std::vector<int32_t>& history = live.request.sequence().tokens();
  std::vector<int32_t> tokens(history.begin() + begin, history.begin() + end);
  tokens.insert(tokens.end(), drafts.begin(), drafts.end());
  const uint64_t attempt = ++at_.numbers.attempt;
  wire::WorkSegment message{.sequence = live.memory->id(),
                            .attempt = attempt,
                            .begin = begin,
                            .tokens = std::move(tokens),
                            .before = live.history->HashAt(begin),
                            .after = kv::ExtendPrefixHash(live.history->HashAt(end), drafts),
                            .wanted = wanted,
                            .more = more,
                            .draft_count = static_cast<uint32_t>(drafts.size())};
  // Keeps all that its result needs, as the request may have ended by then.
  segments_[attempt] = {.live = &live,
                        .frame = at_.numbers.frame,
                        .path = frame.path,
                        .begin = begin,
                        .end = end,
                        .wanted = wanted,
                        .more = more,
                        .is_halted = false,
                        .stops = live.stops,
                        .drafts = drafts,
                        .accepted = 0};
  live.chain.tokens = std::move(drafts);
  // The next frame continues here, without waiting for this result.
  live.sent = end;
  ++live.in_flight;
  return message;
}

// Whether the frame has one request, and no other one has anything in flight.
bool Pipeline::IsAlone(const Frame& frame) const {
  const LiveRequest* const live = frame.items.front().live;
  return frame.items.size() == 1 && std::ranges::all_of(segments_, [&](const auto& item) {
           return item.second.live == nullptr || item.second.live == live;
         });
}

bool Pipeline::MayDraftAhead(const LiveRequest& live) const {
  const bool is_decoding = live.phase == RequestPhase::kDecode && live.in_flight > 0;
  if (!is_decoding || live.chain.has_ended || live.chain.step.frames <= 1) return false;
  if (live.request.cancelled() || AheadOf(live) + 1 >= live.chain.step.frames) return false;
  // Prompts fill all stages of their path; few answers leave stages idle.
  const auto is_filled = [&](const auto& item) {
    return !item.second.is_decode && at_.route.HaveNodeInCommon(item.second.path, live.decode_path);
  };
  if (std::ranges::any_of(frames_, is_filled)) return false;
  const auto is_wanted = [](const auto& item) {
    return item.second.is_ahead && item.second.live != nullptr;
  };
  const auto ahead = static_cast<size_t>(std::ranges::count_if(segments_, is_wanted));
  return decodes().frames + ahead <
         std::max<size_t>(live.decode_path.size(), at_.frame_times.FramesInFlight());
}

void Pipeline::SendAhead(LiveRequest& live, std::vector<int32_t> drafts) {
  // A segment after the chain, whose hashes assume that all of the chain is right.
  std::vector<int32_t>& chain = live.chain.tokens;
  const auto begin = live.length() + static_cast<uint32_t>(chain.size());
  const Hash128 before = kv::ExtendPrefixHash(live.history->HashAt(live.length()), chain);
  const bool is_edited = live.request.request().edit_logits != nullptr;
  const uint64_t attempt = ++at_.numbers.attempt;
  wire::WorkSegment segment;
  segment.sequence = live.memory->id();
  segment.attempt = attempt;
  segment.begin = begin;
  segment.tokens = drafts;
  segment.before = before;
  segment.after = kv::ExtendPrefixHash(before, drafts);
  segment.wanted = is_edited ? wire::Wanted::kLastLogits : wire::Wanted::kToken;
  segment.draft_count = static_cast<uint32_t>(drafts.size());
  chain.insert(chain.end(), drafts.begin(), drafts.end());
  segments_[attempt] = {.live = &live,
                        .frame = ++at_.numbers.frame,
                        .path = live.decode_path,
                        .begin = begin,
                        .end = begin + 1,
                        .wanted = segment.wanted,
                        .stops = live.stops,
                        .drafts = {drafts.begin() + 1, drafts.end()},
                        .is_ahead = true,
                        .first = drafts.front()};
  // Its frame is ahead until Settle finds that its first token is right, or drops it.
  ++live.in_flight;
  ++live.chain.ahead;
  ++at_.counters.frames_ahead;
  const auto end = begin + static_cast<uint32_t>(drafts.size());
  AddFrame({.open = 1,
            .is_decode = true,
            .is_ahead = true,
            .rows = segment.draft_count,
            .path = live.decode_path,
            .sent_ns = at_.clock.NowNs()},
           {{segment.sequence, begin, end, segment.draft_count}});
  if (at_.trace != nullptr) at_.trace->MarkAhead(at_.numbers.frame);
  wire::Work work;
  work.route = at_.route.id();
  work.encoding = at_.encoding;
  work.first_stage = live.decode_path.begin;
  work.segments.push_back(std::move(segment));
  at_.route.SendWork(std::move(work));
}

// Adds a frame, whose number is the newest one.
void Pipeline::AddFrame(const FrameInFlight& frame, std::vector<TracedSegment> traced) {
  if (frames_.empty()) at_.times.Begin(at_.clock.NowNs());
  frames_[at_.numbers.frame] = frame;
  ++at_.counters.frames;
  if (at_.trace == nullptr || traced.empty()) return;
  at_.trace->Send(at_.numbers.frame, frame.is_decode, std::move(traced), at_.clock.NowNs(),
                  frame.path.begin);
}

// A segment of the frame is not in flight any more; after the last one the frame ends.
void Pipeline::RemoveFrame(uint64_t number) {
  const auto frame = frames_.find(number);
  if (--frame->second.open > 0) return;
  if (at_.trace != nullptr) at_.trace->Close(number, at_.clock.NowNs());
  frames_.erase(frame);
  if (frames_.empty()) at_.times.End(at_.clock.NowNs());
}

// --- Results.

Status Pipeline::Check(const wire::Done& done) const {
  // Each result belongs to another segment in flight, ends where that does, and has a token if one
  // was asked for.
  size_t floats = 0;
  std::set<uint64_t> seen;
  for (const wire::SegmentResult& result : done.results) {
    const auto found = segments_.find(result.attempt);
    if (found == segments_.end() || !seen.insert(result.attempt).second) {
      return DataLoss(
          fmt::format("it answered segment {}, which is not in flight", result.attempt));
    }
    const Segment& segment = found->second;
    floats += FloatsOf(segment);
    const bool needs_token = segment.wanted == wire::Wanted::kToken && !result.has_failed;
    const bool has_token =
        result.token >= 0 && static_cast<uint32_t>(result.token) < at_.vocab_size;
    if (result.end != segment.end || (needs_token && !has_token)) {
      return DataLoss(
          fmt::format("it answered a segment that ends at position {} with token {} at {}",
                      segment.end, result.token, result.end));
    }
  }
  // The message has the logits and states of all its segments that wanted any, and no more.
  const size_t bytes = floats * sizeof(float);
  if (done.logits.size() != bytes) {
    return DataLoss(fmt::format("it sent {} bytes of logits or states, and {} were asked for",
                                done.logits.size(), bytes));
  }
  return Ok();
}

// The numbers of logits or states in the segment's result.
size_t Pipeline::FloatsOf(const Segment& segment) const {
  return segment.row_count() * (wire::IsStates(segment.wanted) ? at_.embedding : at_.vocab_size);
}

void Pipeline::Take(const wire::Done& done, int64_t arrived_ns, SegmentSink sink) {
  CountHops(done, arrived_ns);
  const auto* rows = reinterpret_cast<const float*>(done.logits.data());
  for (const wire::SegmentResult& result : done.results) {
    if (segments_.at(result.attempt).wanted == wire::Wanted::kLastLogits) {
      const size_t count = FloatsOf(segments_.at(result.attempt));
      Settle(TakeEdited(result, {rows, count}, sink));
      rows += count;
      continue;
    }
    // The segment before Continue changes it.
    const bool is_continued = IsContinued(result);
    const Segment segment =
        is_continued ? segments_.at(result.attempt) : FinishSegment(result.attempt);
    if (segment.live != nullptr) {
      RouteDrafts::Count(*segment.live, result,
                         {.drafted = static_cast<uint32_t>(segment.drafts.size()),
                          .accepted = segment.accepted,
                          .continues = is_continued});
    }
    // The next token counts as in flight before the sink handles this one.
    if (is_continued) Continue(result.attempt);
    const size_t count = FloatsOf(segment);
    if (segment.live != nullptr) sink(segment, result, {rows, count});
    if (!is_continued) Settle(segment.live);
    rows += count;
  }
}

// Passes row after row to the sink, which chooses a token from each, while that token is the draft
// token of the next row.
LiveRequest* Pipeline::TakeEdited(const wire::SegmentResult& result, std::span<const float> rows,
                                  SegmentSink sink) {
  // The segment stays in flight meanwhile, as the sink may end the request. It counts as halted, as
  // no stage computes it any more.
  Segment& segment = segments_.at(result.attempt);
  segment.is_halted = true;
  const bool is_first = segment.live != nullptr && segment.live->request.generated() == 0;
  const auto drafted = static_cast<uint32_t>(segment.drafts.size());
  for (size_t row = 0; segment.live != nullptr; ++row) {
    const Segment told = segment;
    sink(told, result, rows.subspan(row * at_.vocab_size, at_.vocab_size));
    // The request may have ended or begun again, or the token may not be the draft token.
    if (segment.live == nullptr || row == drafted) break;
    const std::span<const int32_t> text = segment.live->request.sequence().tokens();
    if (text.size() != told.end + 1 || text.back() != segment.drafts[row]) break;
    ++segment.accepted;
    segment.begin = segment.end++;
    segment.live->sent = segment.end;
  }
  if (segment.live != nullptr && !is_first) {
    RouteDrafts::Count(*segment.live, result,
                       {.drafted = drafted, .accepted = segment.accepted, .was_edited = true});
  }
  return FinishSegment(result.attempt).live;
}

std::optional<Segment> Pipeline::Refuse(uint64_t attempt) {
  const auto found = segments_.find(attempt);
  if (found == segments_.end()) return std::nullopt;
  LiveRequest* const live = found->second.live;
  // Stages refuse later segments by themselves, as these do not continue their KV cache.
  if (live != nullptr && found->second.is_ahead) Drop(*live, attempt);
  Segment segment = FinishSegment(attempt);
  segment.live = live;
  return segment;
}

// --- Draft tokens that were sent ahead.

Segment* Pipeline::FirstAhead(const LiveRequest* live) {
  for (auto& [attempt, segment] : segments_) {  // the oldest first
    if (segment.live == live && segment.is_ahead) return &segment;
  }
  return nullptr;
}

size_t Pipeline::AheadOf(const LiveRequest& live) const {
  return static_cast<size_t>(std::ranges::count_if(segments_, [&](const auto& item) {
    return item.second.live == &live && item.second.is_ahead;
  }));
}

// A segment of the request is over. The next one that was sent ahead is right if it begins with the
// newest token; if not, all that were sent ahead are cancelled. (live: null if the request has
// ended.)
void Pipeline::Settle(LiveRequest* live) {
  Segment* const next = live == nullptr ? nullptr : FirstAhead(live);
  if (next == nullptr) return;
  const std::span<const int32_t> text = live->request.sequence().tokens();
  if (text.size() == next->end && text.back() == next->first && !live->request.cancelled()) {
    next->is_ahead = false;
    FrameInFlight& frame = frames_.at(next->frame);
    frame.is_ahead = false;
    frame.certain_ns = at_.clock.NowNs();
    if (at_.trace != nullptr) at_.trace->MarkCertain(next->frame, frame.certain_ns);
    live->sent = next->end;
    return;
  }
  Cancel(*live);
}

// Abandons the request's segments that were sent ahead, from attempt `first` on; false if there
// were none.
bool Pipeline::Drop(const LiveRequest& live, uint64_t first) {
  bool has_dropped = false;
  for (auto& [attempt, segment] : segments_) {
    if (segment.live != &live || !segment.is_ahead || attempt < first) continue;
    std::vector<int32_t>& chain = segment.live->chain.tokens;
    const uint32_t kept = segment.begin - std::min(segment.begin, live.length());
    chain.resize(std::min<size_t>(chain.size(), kept));
    --segment.live->in_flight;
    segment.live = nullptr;
    ++at_.counters.frames_ahead_cancelled;
    has_dropped = true;
  }
  return has_dropped;
}

// The same, and stages need not compute them. SendCancels tells them later, as frames that are
// needed must not wait behind messages that save only idle time.
void Pipeline::Cancel(const LiveRequest& live) {
  if (Drop(live)) cancelled_[live.memory->id()] = at_.numbers.attempt;
}

void Pipeline::SendCancels() {
  for (const auto& [sequence, attempt] : std::exchange(cancelled_, {})) {
    at_.route.SendToAll(
        wire::Cancel{.route = at_.route.id(), .sequence = sequence, .attempt = attempt});
  }
}

Segment Pipeline::FinishSegment(uint64_t attempt) {
  const auto found = segments_.find(attempt);
  CHECK(found != segments_.end());
  Segment segment = std::move(found->second);
  segments_.erase(found);
  RemoveFrame(segment.frame);
  if (segment.live != nullptr) --segment.live->in_flight;
  return segment;
}

// Whether another result of the segment follows: the stage decodes by itself, or the token is the
// next draft token.
bool Pipeline::IsContinued(const wire::SegmentResult& result) const {
  const Segment& segment = segments_.at(result.attempt);
  const bool is_draft =
      segment.accepted < segment.drafts.size() && segment.drafts[segment.accepted] == result.token;
  // A stop token ends the segment even if it was drafted.
  if ((segment.more == 0 && !is_draft) || result.has_failed) return false;
  return std::ranges::count(*segment.stops, result.token) == 0;
}

// Moves the segment on to the token that has just come, in a new frame with the same attempt.
void Pipeline::Continue(uint64_t attempt) {
  Segment& segment = segments_.at(attempt);
  if (segment.more > 0) {
    --segment.more;
  } else {
    ++segment.accepted;
  }
  // Its next result has to end one token further (Check).
  segment.begin = segment.end++;
  if (segment.live != nullptr) segment.live->sent = segment.end;
  RemoveFrame(segment.frame);
  segment.frame = ++at_.numbers.frame;
  std::vector<TracedSegment> traced;
  if (segment.live != nullptr) {
    traced.push_back({segment.live->memory->id(), segment.begin, segment.end});
  }
  // If the request has ended, the frame counts as ahead, so that it holds up no others.
  AddFrame({.open = 1,
            .is_decode = true,
            .is_ahead = segment.live == nullptr,
            .path = segment.path,
            .sent_ns = 0},
           std::move(traced));
}

// Counts the bubbles that a frame filled which was sent ahead and was right: the time that stages
// computed it before its first token was known to be right. They would have been idle, as
// MayDraftAhead allows nothing ahead if other work fills the stages.
void Pipeline::CountBubbles(const TracedFrame& frame, int64_t certain_ns) {
  std::vector<StageSpan> spans;
  PlaceFrame(frame, 0, spans);
  for (const StageSpan& span : spans) {
    const int64_t filled_ns = FilledNs(span, certain_ns);
    if (filled_ns > 0) ++at_.counters.bubbles_filled;
    at_.counters.bubbles_filled_ns += filled_ns;
  }
}

// Learns the times of a frame from its hops. All results of a message are of one frame.
void Pipeline::CountHops(const wire::Done& done, int64_t arrived_ns) {
  if (done.results.empty()) return;
  const Segment& segment = segments_.at(done.results.front().attempt);
  const std::vector<wire::Hop> hops = PlausibleHops(done.hops, segment.path.size());
  if (at_.trace != nullptr) at_.trace->Done(segment.frame, hops, arrived_ns);
  // If a frame's results come in several messages, its times count once.
  FrameInFlight& frame = frames_.at(segment.frame);
  const int64_t sent_ns = std::exchange(frame.sent_ns, 0);
  if (frame.rows > 0 && sent_ns > 0) {
    at_.frame_times.Learn(frame.rows, hops, arrived_ns - sent_ns);
  }
  if (sent_ns > 0 && frame.certain_ns > 0) {
    TracedFrame placed;
    placed.sent_ns = sent_ns;
    placed.ended_ns = arrived_ns;
    placed.hops = hops;
    CountBubbles(placed, frame.certain_ns);
  }
  at_.times.Add(segment.path.begin, hops, sent_ns, arrived_ns);
  const uint32_t rows = frame.is_decode ? std::max(frame.rows, 1u) : frame.tokens;
  at_.pace.Learn(segment.path.begin, rows, segment.end, hops, at_.clock.NowNs());
  uint64_t slowest_ns = 0;
  for (const wire::Hop& hop : hops) slowest_ns = std::max(slowest_ns, hop.compute_ns);
  at_.schedule.NotePrefill(std::exchange(frame.tokens, 0), static_cast<int64_t>(slowest_ns));
}

// --- Requests that end.

void Pipeline::Halt(const LiveRequest& live) {
  Cancel(live);
  SendCancels();
  for (auto& [attempt, segment] : segments_) {
    if (segment.live != &live || segment.is_halted) continue;
    // The results of accepted draft tokens come in any case.
    if (segment.accepted > 0) segment.is_halted = true;
    if (segment.more == 0) continue;
    segment.is_halted = true;
    // Only a stage that decodes by itself has to be told.
    at_.route.Send(
        at_.route.stages().back().node.id,
        wire::Halt{.route = at_.route.id(), .sequence = live.memory->id(), .attempt = attempt});
  }
}

bool Pipeline::IsComputing(const LiveRequest& live) const {
  return std::ranges::any_of(segments_, [&](const auto& item) {
    return item.second.live == &live && !item.second.is_halted;
  });
}

void Pipeline::Abandon(LiveRequest& live) {
  Cancel(live);
  SendCancels();
  live.chain = {};
  for (auto& [attempt, segment] : segments_) {
    // The segments stay: their results still arrive, and count for their frames.
    if (segment.live == &live) segment.live = nullptr;
  }
  live.in_flight = 0;
}

FrameSchedule::DecodesInFlight Pipeline::decodes() const {
  FrameSchedule::DecodesInFlight decodes;
  for (const auto& [number, frame] : frames_) {
    if (!frame.is_decode || frame.is_ahead) continue;
    ++decodes.frames;
    decodes.segments += frame.open;
  }
  return decodes;
}

size_t Pipeline::prefill_frames(Path path) const {
  return static_cast<size_t>(std::ranges::count_if(frames_, [&](const auto& item) {
    return !item.second.is_decode && item.second.path == path;
  }));
}

}  // namespace aster::conduct
