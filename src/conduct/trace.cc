// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/trace.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace aster::conduct {
namespace {

// The fixed cost of a hop, in bytes.
constexpr uint64_t kHopBytes = 64 << 10;

const TracedRoute* RouteOf(const Trace& trace, wire::RouteId id) {
  const auto found = std::ranges::find(trace.routes(), id, &TracedRoute::id);
  return found == trace.routes().end() ? nullptr : &*found;
}

uint64_t TokenBytes(const TracedFrame& frame) {
  uint64_t bytes = 0;
  for (const TracedSegment& segment : frame.segments) {
    bytes += uint64_t{4} * (segment.end - segment.begin);
  }
  return bytes;
}

}  // namespace

void Trace::OpenRoute(wire::RouteId id, const plan::Plan& plan, int64_t now_ns) {
  routes_.push_back(
      {.id = id, .plan = plan, .stages = plan.AllStages(), .opened_ns = now_ns, .why = ""});
}

void Trace::RouteIsReady(wire::RouteId id, int64_t now_ns) {
  for (TracedRoute& route : routes_) {
    if (route.id == id && route.ready_ns == 0) route.ready_ns = now_ns;
  }
}

void Trace::CloseRoute(wire::RouteId id, const std::string& why, int64_t now_ns) {
  for (TracedRoute& route : routes_) {
    if (route.id != id || route.closed_ns != 0) continue;
    route.closed_ns = now_ns;
    route.why = why;
  }
  for (const auto& [number, place] : std::exchange(in_flight_, {})) {
    frames_[place].fate = TracedFrame::Fate::kLost;
    frames_[place].ended_ns = now_ns;
  }
}

void Trace::Send(uint64_t frame, bool is_decode, std::vector<TracedSegment> segments,
                 int64_t now_ns, uint32_t first_stage) {
  // Frames beyond the limit are counted, not kept.
  if (frames_.size() >= limit_ || routes_.empty()) {
    ++dropped_;
    return;
  }
  in_flight_[frame] = frames_.size();
  frames_.push_back({.route = routes_.back().id,
                     .number = frame,
                     .is_decode = is_decode,
                     .sent_ns = now_ns,
                     .segments = std::move(segments),
                     .hops = {},
                     .first_stage = first_stage});
}

TracedFrame* Trace::FindInFlight(uint64_t frame) {
  const auto found = in_flight_.find(frame);
  return found == in_flight_.end() ? nullptr : &frames_[found->second];
}

void Trace::MarkAhead(uint64_t frame) {
  if (TracedFrame* const traced = FindInFlight(frame)) traced->is_ahead = true;
}

void Trace::MarkCertain(uint64_t frame, int64_t now_ns) {
  if (TracedFrame* const traced = FindInFlight(frame)) traced->certain_ns = now_ns;
}

void Trace::Done(uint64_t frame, const std::vector<wire::Hop>& hops, int64_t now_ns) {
  TracedFrame* const traced = FindInFlight(frame);
  if (traced == nullptr) return;
  const TracedRoute* const route = RouteOf(*this, traced->route);
  traced->fate = TracedFrame::Fate::kDone;
  traced->ended_ns = now_ns;
  // Hops come from other machines: at most one for each stage, none longer than the whole frame.
  const auto all_ns = static_cast<uint64_t>(std::max<int64_t>(0, now_ns - traced->sent_ns));
  for (size_t i = 0; i < std::min(hops.size(), route->stages.size() - traced->first_stage); ++i) {
    traced->hops.push_back({.queue_ns = std::min(hops[i].queue_ns, all_ns),
                            .compute_ns = std::min(hops[i].compute_ns, all_ns),
                            .bytes_out = hops[i].bytes_out,
                            .gather_ns = std::min(hops[i].gather_ns, all_ns),
                            .gather_bytes = hops[i].gather_bytes,
                            .gathers = hops[i].gathers,
                            .gather_send_ns = std::min(hops[i].gather_send_ns, all_ns)});
  }
  in_flight_.erase(frame);
}

void Trace::Close(uint64_t frame, int64_t now_ns) {
  TracedFrame* const traced = FindInFlight(frame);
  if (traced == nullptr) return;
  traced->fate = TracedFrame::Fate::kRefused;
  traced->ended_ns = now_ns;
  in_flight_.erase(frame);
}

void Trace::AddDrafts(const TracedDrafts& drafts) {
  if (drafts_.size() >= limit_) {
    ++dropped_;
    return;
  }
  drafts_.push_back(drafts);
}

void Trace::Phase(uint64_t request, const char* name, int64_t now_ns) {
  if (const auto found = current_phase_.find(request); found != current_phase_.end()) {
    phases_[found->second].end_ns = now_ns;
    current_phase_.erase(found);
  }
  if (name == nullptr) return;
  if (phases_.size() >= limit_) {
    ++dropped_;
    return;
  }
  current_phase_[request] = phases_.size();
  phases_.push_back({.request = request, .name = name, .begin_ns = now_ns});
}

void PlaceFrame(const TracedFrame& frame, size_t index, std::vector<StageSpan>& spans) {
  // The rest of the frame's time was spent on links: it is divided among them by bytes.
  uint64_t busy_ns = 0;
  uint64_t bytes = TokenBytes(frame) + kHopBytes;
  for (const wire::Hop& hop : frame.hops) {
    busy_ns += hop.queue_ns + hop.compute_ns;
    bytes += hop.bytes_out + kHopBytes;
  }
  const auto on_the_way_ns =
      std::max<int64_t>(0, frame.ended_ns - frame.sent_ns - static_cast<int64_t>(busy_ns));
  const auto part_ns = [&](uint64_t hop_bytes) {
    return static_cast<int64_t>(static_cast<double>(on_the_way_ns) *
                                static_cast<double>(hop_bytes + kHopBytes) /
                                static_cast<double>(bytes));
  };
  // Places one stage after the other on the conductor's clock.
  int64_t now_ns = frame.sent_ns + part_ns(TokenBytes(frame));
  for (uint32_t stage = 0; stage < frame.hops.size(); ++stage) {
    const wire::Hop& hop = frame.hops[stage];
    StageSpan span{.frame = index, .stage = frame.first_stage + stage, .arrived_ns = now_ns};
    span.started_ns = now_ns + static_cast<int64_t>(hop.queue_ns);
    span.ended_ns = span.started_ns + static_cast<int64_t>(hop.compute_ns);
    const bool is_last = stage + 1 == frame.hops.size();
    now_ns =
        is_last ? std::max(span.ended_ns, frame.ended_ns) : span.ended_ns + part_ns(hop.bytes_out);
    span.delivered_ns = now_ns;
    spans.push_back(span);
  }
}

int64_t FilledNs(const StageSpan& span, int64_t certain_ns) {
  return std::max<int64_t>(0, std::min(span.ended_ns, certain_ns) - span.started_ns);
}

std::vector<StageSpan> PlaceFrames(const Trace& trace) {
  // First places each frame by itself; then moves frames of a node that overlap.
  std::vector<StageSpan> spans;
  for (size_t i = 0; i < trace.frames().size(); ++i) {
    const TracedFrame& frame = trace.frames()[i];
    if (frame.fate == TracedFrame::Fate::kDone) PlaceFrame(frame, i, spans);
  }
  const auto order = [](const StageSpan& span) {
    return std::tuple(span.started_ns, span.ended_ns, span.frame, span.stage);
  };
  std::ranges::sort(spans, {}, order);
  // Moves each span behind those before it on its node and in its frame.
  std::map<wire::NodeId, int64_t> free_ns;
  std::map<size_t, StageSpan*> stage_before;  // by frame
  for (StageSpan& span : spans) {
    const TracedFrame& frame = trace.frames()[span.frame];
    const std::vector<plan::PlanStage>& stages = RouteOf(trace, frame.route)->stages;
    int64_t& node_free_ns = free_ns.try_emplace(stages[span.stage].node.id, 0).first->second;
    StageSpan* const before = std::exchange(stage_before[span.frame], &span);
    int64_t late_ns = std::max(int64_t{0}, node_free_ns - span.started_ns);
    if (before != nullptr) late_ns = std::max(late_ns, before->ended_ns - span.arrived_ns);
    span.arrived_ns += late_ns;
    span.started_ns += late_ns;
    span.ended_ns += late_ns;
    span.delivered_ns = std::max(span.delivered_ns, span.ended_ns);
    node_free_ns = span.ended_ns;
    if (before != nullptr) before->delivered_ns = span.arrived_ns;
  }
  std::ranges::sort(spans, {}, order);
  return spans;
}

std::vector<Bubble> FindBubbles(const Trace& trace, const std::vector<StageSpan>& spans) {
  // By route: the intervals in which anything was in flight.
  struct Busy {
    int64_t begin_ns;
    int64_t end_ns;
  };
  std::map<wire::RouteId, std::vector<Busy>> busy;
  for (const TracedFrame& frame : trace.frames()) {  // in the order of sending
    if (frame.fate == TracedFrame::Fate::kInFlight) continue;
    std::vector<Busy>& pieces = busy[frame.route];
    if (pieces.empty() || frame.sent_ns > pieces.back().end_ns) {
      pieces.push_back({frame.sent_ns, frame.ended_ns});
    } else {
      pieces.back().end_ns = std::max(pieces.back().end_ns, frame.ended_ns);
    }
  }
  std::vector<Bubble> bubbles;
  // Bubbles: the parts of these intervals between two frames of a node.
  std::map<wire::NodeId, const StageSpan*> before;
  for (const StageSpan& span : spans) {
    const TracedFrame& frame = trace.frames()[span.frame];
    const wire::NodeId& node = RouteOf(trace, frame.route)->stages[span.stage].node.id;
    const StageSpan* const last = std::exchange(before[node], &span);
    if (last == nullptr || trace.frames()[last->frame].route != frame.route) continue;
    const std::vector<Busy>& pieces = busy[frame.route];
    for (auto piece = std::ranges::upper_bound(pieces, last->ended_ns, {}, &Busy::end_ns);
         piece != pieces.end() && piece->begin_ns < span.started_ns; ++piece) {
      const int64_t begin_ns = std::max(piece->begin_ns, last->ended_ns);
      const int64_t end_ns = std::min(piece->end_ns, span.started_ns);
      if (begin_ns < end_ns) bubbles.push_back({node, begin_ns, end_ns});
    }
  }
  return bubbles;
}

}  // namespace aster::conduct
