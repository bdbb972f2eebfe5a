// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The work of a stage server: queues, the choice of the next frame, and sending its result on.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/units.h"
#include "stage/stage_server.h"

namespace aster::stage {
namespace {

bool IsDecode(const wire::Work& work) {
  return std::ranges::all_of(work.segments, [](const wire::WorkSegment& segment) {
    return segment.is_ahead() || segment.tokens.size() == size_t{1} + segment.draft_count;
  });
}

// Draft tokens that were sent behind other draft tokens, before these are checked.
bool IsAhead(const wire::Work& work) {
  return std::ranges::all_of(work.segments, &wire::WorkSegment::is_ahead);
}

bool HaveSequenceInCommon(const wire::Work& a, const wire::Work& b) {
  return std::ranges::any_of(a.segments, [&](const wire::WorkSegment& segment) {
    return std::ranges::count(b.segments, segment.sequence, &wire::WorkSegment::sequence) > 0;
  });
}

// Of this node's own frames, and of each other node that leads groups with this one. A device
// computes one while the next one is ready. More would only take memory for activations.
constexpr size_t kMostFramesInFlight = 2;

}  // namespace

uint64_t BytesOf(const wire::Work& work) {
  uint64_t bytes = work.rows.size() + work.segments.size() * sizeof(wire::WorkSegment);
  for (const wire::WorkSegment& segment : work.segments) bytes += segment.tokens.size() * 4;
  return bytes;
}

void StageServer::OnWork(const wire::NodeId& from, wire::Work&& work, int64_t arrived_ns) {
  const auto found = routes_.find(work.route);
  if (found == routes_.end() || !found->second.is_ready) {
    return Refuse(
        work.route, from,
        FailedPrecondition(fmt::format("node {} has no such route: open it again", Self())));
  }
  // Finds the stage that it is for: the work has one hop of each stage before that one.
  Route& route = found->second;
  const uint64_t index = uint64_t{work.first_stage} + work.hops.size();
  const auto place =
      std::ranges::find_if(route.stages, [&](const auto& entry) { return entry->index == index; });
  if (place == route.stages.end()) return;
  // Only the conductor may send to the first stage of a path, only the previous stage to any other.
  const bool begins_here = route.follows() || route.StageAfter((*place)->index - 1) == nullptr;
  const wire::NodeId& before =
      route.follows() ? route.open.conductor.node : route.SenderTo((*place)->index);
  if (begins_here != work.hops.empty() || before != from) return;
  StageEntry& entry = **place;
  QueuedWork queued{.work = std::move(work), .arrived_ns = arrived_ns};
  queued.bytes = BytesOf(queued.work);
  // Queues are bounded: a full one breaks the route.
  if (entry.queued_bytes + queued.bytes > options_.max_queued_bytes ||
      entry.decodes.size() + entry.prefills.size() >= options_.max_queued_frames) {
    return Break(route.open.route,
                 ResourceExhausted(fmt::format(
                     "node {} has {} of work in its queue, and gets more than it computes", Self(),
                     FormatBytes(entry.queued_bytes))));
  }
  entry.queued_bytes += queued.bytes;
  // Decodes overtake prefills. The last token of a prompt looks like a decode, and must not
  // overtake the prefill of the same sequence.
  const bool follows = std::ranges::any_of(entry.prefills, [&](const QueuedWork& earlier) {
    return HaveSequenceInCommon(earlier.work, queued.work);
  });
  const bool is_decode = IsDecode(queued.work) && !follows;
  if (!is_decode) return entry.prefills.push_back(std::move(queued));
  // Work that is certainly needed overtakes draft tokens that were sent ahead.
  auto behind = entry.decodes.end();
  while (!IsAhead(queued.work) && behind != entry.decodes.begin() &&
         IsAhead(std::prev(behind)->work)) {
    --behind;
  }
  entry.decodes.insert(behind, std::move(queued));
}

bool StageServer::has_work() const {
  if (!std::ranges::all_of(frames_in_flight_, WaitsForParts)) return true;
  // All frames in flight wait for messages. Some may have come, or another frame may begin.
  if (has_part_rows_ && AwaitsParts()) return true;
  return std::ranges::any_of(routes_, [this](const auto& item) {
    return std::ranges::any_of(item.second.stages,
                               [&](const auto& entry) { return CanBegin(item.second, *entry); });
  });
}

// Finishes or begins one frame. Waits for a device only if neither is possible.
void StageServer::Compute() {
  const bool has_worked = AdvanceFrames() || BeginNext();
  // Rows of other nodes come as messages: the caller must not be kept from handling them.
  const bool may_wait = !std::ranges::any_of(frames_in_flight_, WaitsForParts);
  if (!has_worked && may_wait && !frames_in_flight_.empty()) {
    Stage::Wait(*frames_in_flight_.front().frame);
    AdvanceFrames();
  }
  HandleDeferred();
}

// Begins the frame whose turn it is; false if none can begin.
bool StageServer::BeginNext() {
  // Routes take turns, beginning after the one that was computed last.
  auto place = routes_.upper_bound(last_computed_);
  for (size_t i = 0; i < routes_.size(); ++i, ++place) {
    if (place == routes_.end()) place = routes_.begin();
    // The last stage first: frames that are nearly done are finished before others begin.
    StageEntry* chosen = nullptr;
    for (const auto& entry : place->second.stages) {
      if (!CanBegin(place->second, *entry)) continue;
      if (chosen == nullptr || entry->index > chosen->index) chosen = entry.get();
    }
    if (chosen == nullptr) continue;
    last_computed_ = place->first;
    BeginFrame(place->second, *chosen);
    return true;
  }
  return false;
}

// Whether a frame in flight has this sequence. Stages with the same StageMemory share sequences.
bool StageServer::IsInFlight(const StageMemory& memory, wire::SequenceId sequence) const {
  return std::ranges::any_of(frames_in_flight_, [&](const FrameInFlight& other) {
    return &other.entry->stage->memory() == &memory &&
           std::ranges::count(other.sequences, sequence) > 0;
  });
}

// Frames of one queue begin in order, so only the first one matters.
bool StageServer::CanBegin(const StageEntry& entry, const std::deque<QueuedWork>& queue) const {
  return !queue.empty() && std::ranges::none_of(queue.front().work.segments, [&](const auto& each) {
    return IsInFlight(entry.stage->memory(), each.sequence);
  });
}

bool StageServer::CanContinue(const StageEntry& entry) const {
  const bool has_some = entry.continues() && MostContinued(entry) > 0;
  return has_some && std::ranges::none_of(entry.generations, [&](const auto& item) {
           return item.second.token && IsInFlight(entry.stage->memory(), item.first);
         });
}

// The number of answers that the stage decodes by itself and that a frame in flight has.
size_t StageServer::AnswersInFlight(const StageEntry& entry) const {
  size_t count = 0;
  for (const FrameInFlight& frame : frames_in_flight_) {
    if (frame.entry == &entry && frame.continued > 0) count += frame.sequences.size();
  }
  return count;
}

// How many waiting answers the next frame has at most. A group computes all answers in one frame,
// for which new ones wait, or in two frames that take turns.
size_t StageServer::MostContinued(const StageEntry& entry) const {
  if (!entry.is_of_group) return entry.waiting();
  const size_t in_flight = AnswersInFlight(entry);
  return entry.overlap.MostInFrame(entry.waiting() + in_flight, in_flight);
}

bool StageServer::CanBegin(const Route& route, const StageEntry& entry) const {
  // Deferred messages have their turn before the next frame, except where another node leads: there
  // queued work was sent before them, and the other nodes compute it already.
  if (!HasSlot(route) || (!route.follows() && !route.deferred.empty())) return false;
  return CanBegin(entry, entry.decodes) || CanBegin(entry, entry.prefills) || CanContinue(entry);
}

// Whether one more frame of the route may be in flight. A frame of a group ends only once all of
// its nodes have begun it. So a frame that another node leads must not wait for frames that this
// node leads, nor for those of a third node: else two nodes could wait for each other for ever
// (docs/groups.md). A node never has more than this many of its own in flight.
bool StageServer::HasSlot(const Route& route) const {
  const auto takes_same_slots = [&](const FrameInFlight& frame) {
    const Route& other = routes_.at(frame.route);
    if (!route.follows() || !other.follows()) return route.follows() == other.follows();
    return route.open.conductor.node == other.open.conductor.node;
  };
  return static_cast<size_t>(std::ranges::count_if(frames_in_flight_, takes_same_slots)) <
         kMostFramesInFlight;
}

const wire::StageAddress* StageServer::Route::StageAfter(uint32_t index) const {
  const auto next = static_cast<uint32_t>(index + 1);  // 0: SenderTo asks about the first stage
  const size_t decode_begin = open.stages.size() - open.decode_stages;
  const bool begins = next == 0 || next == decode_begin;
  return begins || next >= open.stages.size() ? nullptr : &open.stages[next];
}

const char* StageServer::Route::RoleOf(const wire::NodeId& node) const {
  if (group && group->Has(node)) return " of its group";
  if (follows()) return nullptr;
  const bool is_next = std::ranges::any_of(stages, [&](const auto& entry) {
    const wire::StageAddress* const next = StageAfter(entry->index);
    return next != nullptr && next->node == node;
  });
  if (is_next) return "";
  // Rows are sent once: without these, neither node would ever send another message about them.
  const bool loses_rows = std::ranges::any_of(
      memories, [&](const auto& held) { return held->memory && held->memory->HasInFlight(node); });
  return loses_rows ? ", to which KV rows were on their way" : nullptr;
}

const wire::NodeId& StageServer::Route::SenderTo(uint32_t index) const {
  const bool begins = StageAfter(index - 1) == nullptr;
  return begins ? open.conductor.node : open.stages[index - 1].node;
}

size_t StageServer::StageEntry::waiting() const {
  return static_cast<size_t>(std::ranges::count_if(
      generations, [](const auto& item) { return item.second.token.has_value(); }));
}

// The next frame of a stage. Prefills and decodes take turns if both wait, and so do decodes that
// were sent and those that the stage continues by itself (`continues`).
StageServer::QueuedWork StageServer::NextWork(StageEntry& entry, bool& continues) {
  // Each waiting kind gets every other frame, so that none starves.
  const bool waits = CanBegin(entry, entry.prefills);
  const bool was_sent = CanBegin(entry, entry.decodes);
  const bool can_continue = CanContinue(entry);
  const bool decodes = was_sent || can_continue;
  const bool is_prefill = waits && (!decodes || entry.prefill_is_next);
  entry.prefill_is_next = !is_prefill;
  continues = !is_prefill && can_continue && (!was_sent || !entry.decode_is_next);
  if (!continues) {
    // A frame that was sent.
    std::deque<QueuedWork>& queue = is_prefill ? entry.prefills : entry.decodes;
    QueuedWork queued = std::move(queue.front());
    queue.pop_front();
    entry.queued_bytes -= queued.bytes;
    if (!is_prefill) entry.decode_is_next = false;
    return queued;
  }
  // A step of the sequences that the stage decodes by itself, as many as may be in one frame.
  entry.decode_is_next = true;
  QueuedWork queued{.work = {}, .arrived_ns = network_.clock().NowNs()};
  queued.work.route = entry.counters.route;
  // They share the number of draft tokens that are cheap in one frame.
  const size_t answers = std::min(entry.waiting(), MostContinued(entry));
  for (auto& [sequence, generation] : entry.generations) {
    if (!generation.token || queued.work.segments.size() == answers) continue;
    queued.arrived_ns = std::min(queued.arrived_ns, generation.since_ns);
    const uint32_t most_drafts =
        std::min(generation.more, engine::DraftShare(answers, queued.work.segments.size()));
    queued.work.segments.push_back(
        entry.stage->Continuation(sequence, generation.attempt, *generation.token, most_drafts));
    generation.token.reset();
  }
  return queued;
}

void StageServer::BeginFrame(Route& route, StageEntry& entry) {
  // A segment after which the stage is to decode by itself begins a generation now, before it is
  // computed, as ContinueGenerations continues it with the segment's token.
  bool continues = false;
  QueuedWork queued = NextWork(entry, continues);
  FrameInFlight begun{.route = route.open.route,
                      .entry = &entry,
                      .sequences = {},
                      .hops = std::move(queued.work.hops),
                      .arrived_ns = queued.arrived_ns,
                      .start_ns = network_.clock().NowNs(),
                      .frame = nullptr};
  if (continues) {
    begun.continued = queued.work.segments.size() + AnswersInFlight(entry) + entry.waiting();
  }
  for (const wire::WorkSegment& segment : queued.work.segments) {
    begun.sequences.push_back(segment.sequence);
    const auto count = static_cast<uint32_t>(segment.tokens.size());
    begun.rows += count;
    begun.context = std::max(begun.context, segment.begin + count);
    begun.has_answers |= count < WorkRates::kFewestRows || segment.draft_count > 0;
    begun.computes_head |= segment.wanted != wire::Wanted::kNothing;
    const bool can_go_on = entry.stage->part().embedding && entry.stage->part().head;
    if (segment.more > 0 && segment.wanted == wire::Wanted::kToken && can_go_on) {
      entry.generations[segment.sequence] = {
          .attempt = segment.attempt, .more = segment.more, .token = {}, .since_ns = 0};
    }
  }
  // An invalid frame breaks the route; segments that cannot be computed are only refused.
  if (continues) queued.work.encoding = route.open.encoding;
  auto frame = entry.stage->Begin(std::move(queued.work), continues);
  if (!frame.ok()) {
    return Break(route.open.route, std::move(frame).error().In(fmt::format("node {}", Self())));
  }
  begun.frame = *std::move(frame);
  begun.awaits_parts = route.group != nullptr && route.group_index == entry.index;
  begun.busy_ns = static_cast<uint64_t>(network_.clock().NowNs() - begun.start_ns);
  begun.is_alone = frames_in_flight_.empty();
  for (FrameInFlight& other : frames_in_flight_) other.is_alone = false;
  // A frame that needs no device or other node is done now.
  if (Advance(begun) == model::Progress::kDone) {
    return Finish(std::move(begun));
  }
  frames_in_flight_.push_back(std::move(begun));
}

// Advances the frame, and counts how long it waits for the other nodes of a group.
model::Progress StageServer::Advance(FrameInFlight& frame) const {
  const int64_t begin_ns = network_.clock().NowNs();
  if (frame.waits_since_ns != 0) {
    frame.gather_ns += static_cast<uint64_t>(begin_ns - frame.waits_since_ns);
  }
  frame.waits_since_ns = 0;
  const model::Progress progress = frame.entry->stage->Advance(*frame.frame);
  const int64_t end_ns = network_.clock().NowNs();
  frame.busy_ns += static_cast<uint64_t>(end_ns - begin_ns);
  if (progress == model::Progress::kWaiting && WaitsForParts(frame)) frame.waits_since_ns = end_ns;
  return progress;
}

// Advances all frames in flight until one is finished; false if none was.
bool StageServer::AdvanceFrames() {
  has_part_rows_ = false;
  for (size_t i = 0; i < frames_in_flight_.size(); ++i) {
    FrameInFlight& frame = frames_in_flight_[i];
    if (Advance(frame) == model::Progress::kWaiting) continue;
    FrameInFlight done = std::move(frame);
    frames_in_flight_.erase(frames_in_flight_.begin() + static_cast<ptrdiff_t>(i));
    has_part_rows_ = !frames_in_flight_.empty();  // others may go on
    Finish(std::move(done));
    return true;
  }
  return false;
}

// Afterwards only frames that wait for other nodes are in flight, of other routes than that of the
// message that is handled (RouteToAwait).
void StageServer::FinishFrames() {
  for (;;) {
    const auto computing = std::ranges::find_if_not(frames_in_flight_, WaitsForParts);
    if (computing == frames_in_flight_.end()) return;
    Stage::Wait(*computing->frame);
    AdvanceFrames();
  }
}

// Takes the result of a frame that is done: notes its times, continues generations, sends results
// to the next stage or the conductor, and new KV rows to nodes that have ordered them.
void StageServer::Finish(FrameInFlight done) {
  StageEntry& entry = *done.entry;
  if (entry.stage->memory().model().has_lost_gpu()) return DropLostSlices();
  Route& route = routes_.at(done.route);
  if (route.group && route.group->broken()) {
    const Error why = *route.group->broken();
    done.frame.reset();
    return Break(done.route, Error(Code::kAborted, why.message()));
  }
  StageOutput output = entry.stage->TakeOutput(std::move(done.frame));
  // The times of frames do not overlap: until the frame before was finished, this one was queued.
  const int64_t now_ns = network_.clock().NowNs();
  const int64_t from_ns = std::max(done.start_ns, std::exchange(last_end_ns_, now_ns));
  const wire::Hop hop{.queue_ns = static_cast<uint64_t>(from_ns - done.arrived_ns),
                      .compute_ns = static_cast<uint64_t>(now_ns - from_ns),
                      .gather_ns = done.gather_ns,
                      .gather_bytes = output.gathered.bytes,
                      .gathers = output.gathered.gathers,
                      .gather_send_ns = output.gathered.ns};
  // Learns the times of slices and of overlapping frames (WorkRates, TwoBatchOverlap).
  //
  // If two frames of a group were in flight, one was computed while the other waited. Then waiting
  // does not count, and each took as long as it was computed.
  const bool overlaps = done.awaits_parts && !done.is_alone;
  const uint64_t took_ns = overlaps ? done.busy_ns : hop.compute_ns;
  const uint64_t shared_ns = std::min(took_ns, hop.gather_send_ns + (overlaps ? 0 : hop.gather_ns));
  const uint64_t own_ns = took_ns - shared_ns;
  const uint64_t waited_ns = overlaps ? 0 : shared_ns;
  if (done.rows == 1 || !done.has_answers) {
    model::Slice computed = entry.counters.slice;
    computed.head &= done.computes_head;
    rates_.Learn(entry.counters.fingerprint, computed, done.rows, done.context,
                 static_cast<double>(own_ns) / kNsPerSecond,
                 static_cast<double>(waited_ns) / kNsPerSecond);
  }
  if (done.continued > 0 && options_.two_batch_overlap) {
    entry.overlap.Learn({.answers = done.continued,
                         .own = done.sequences.size(),
                         .took_ns = static_cast<int64_t>(hop.compute_ns),
                         .waited_ns = static_cast<int64_t>(done.gather_ns)});
  }
  // Before SendOn, which moves the tokens away.
  ContinueGenerations(entry, output);
  StageMemory& memory = entry.stage->memory();
  SendOn(route, entry, std::move(output), hop, std::move(done.hops));
  if (!routes_.contains(done.route)) return;  // SendOn broke it: `route` and `entry` are destroyed
  // Sends new rows to nodes that have ordered them, while the next frame is computed.
  const bool prefills = route.open.decode_stages > 0 && !route.Decodes(entry.index);
  for (const wire::SequenceId sequence : done.sequences) {
    // A decode stage on this node may share the KV cache of a prefill stage: it has the rows now.
    if (prefills) TellDecodeStages(route, entry, sequence);
    SendRows(route, memory, sequence);
  }
}

void StageServer::TellDecodeStages(const Route& route, const StageEntry& entry,
                                   wire::SequenceId sequence) {
  for (const auto& other : route.stages) {
    if (other->held != entry.held || !route.Decodes(other->index)) continue;
    static_cast<void>(network_.Send(route.open.conductor.node, other->stage->HoldsOf(sequence)));
  }
}

// Sequences that the stage decodes by itself continue with their new tokens, or end if refused.
void StageServer::ContinueGenerations(StageEntry& entry, const StageOutput& output) {
  for (const wire::Holds& refused : output.refused) entry.generations.erase(refused.sequence);
  if (output.done) ContinueGenerations(entry, *output.done);
  for (const wire::Done& done : output.accepted) ContinueGenerations(entry, done);
}

void StageServer::ContinueGenerations(StageEntry& entry, const wire::Done& done) {
  for (const wire::SegmentResult& answer : done.results) {
    // A result of an earlier attempt continues nothing.
    const auto found = entry.generations.find(answer.sequence);
    if (found == entry.generations.end() || found->second.attempt != answer.attempt) continue;
    Generation& generation = found->second;
    if (answer.has_failed || generation.more == 0 ||
        entry.stage->memory().StopsAt(answer.sequence, answer.token)) {
      entry.generations.erase(found);
      continue;
    }
    // Its token is the next frame's input.
    --generation.more;
    generation.token = answer.token;
    generation.since_ns = network_.clock().NowNs();
  }
}

// The hops without fields that an older node does not know.
std::vector<wire::Hop> StageServer::HopsFor(const wire::NodeId& node,
                                            std::vector<wire::Hop> hops) const {
  if (network_.ProtocolOf(node) >= wire::kBlocksProtocol) return hops;
  for (wire::Hop& hop : hops) hop.gathers = hop.gather_send_ns = 0;
  return hops;
}

void StageServer::SendOn(Route& route, StageEntry& entry, StageOutput&& output, wire::Hop hop,
                         std::vector<wire::Hop>&& hops) {
  const wire::OpenRoute& open = route.open;
  // The hop has the times and bytes of this stage, for the conductor's traces.
  hop.bytes_out = output.next   ? output.next->rows.size()
                  : output.done ? output.done->logits.size()
                                : 0;
  StageRouteStatus& counters = entry.counters;
  ++counters.frames;
  counters.tokens += output.tokens;
  counters.queue_ns += hop.queue_ns;
  counters.compute_ns += hop.compute_ns;
  counters.bytes_out += hop.bytes_out;
  hops.push_back(hop);
  // Refused segments go straight back.
  for (wire::Holds& holds : output.refused) {
    static_cast<void>(network_.Send(open.conductor.node, std::move(holds)));
  }
  // The last stage of a path sends the conductor one message with the hops, and one more for each
  // accepted draft token.
  if (output.done) {
    output.done->hops = HopsFor(open.conductor.node, std::move(hops));
    static_cast<void>(network_.Send(open.conductor.node, *std::move(output.done)));
    for (wire::Done& done : output.accepted) {
      static_cast<void>(network_.Send(open.conductor.node, std::move(done)));
    }
  } else if (output.next) {
    // Any other one sends work to the next stage. If it cannot, the route breaks.
    output.next->first_stage = entry.index + 1 - static_cast<uint32_t>(hops.size());
    const wire::NodeId next = route.StageAfter(entry.index)->node;
    output.next->hops = HopsFor(next, std::move(hops));
    Status sent = network_.Send(next, *std::move(output.next));
    if (!sent.ok()) {
      Break(open.route,
            std::move(sent).error().In(fmt::format("from node {} to {}", Self(), next.ToText())),
            next);
    }
  }
}

}  // namespace aster::stage
