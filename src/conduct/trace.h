// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Records every frame of a conductor's routes, and computes one time line of all stages afterwards.
// Clocks of machines differ, so a trace uses only the conductor's clock and the durations that
// stages report. Must not know how it is shown.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "wire/messages.h"

namespace aster::conduct {

struct TracedSegment {
  wire::SequenceId sequence = 0;
  uint32_t begin = 0;  // positions, half-open
  uint32_t end = 0;
  uint32_t drafts = 0;  // draft tokens among its tokens
};

struct TracedFrame {
  enum class Fate : uint8_t { kInFlight, kDone, kRefused, kLost };

  wire::RouteId route = 0;
  uint64_t number = 0;
  bool is_decode = false;
  bool is_ahead = false;  // draft tokens after draft tokens in flight
  Fate fate = Fate::kInFlight;
  int64_t sent_ns = 0;
  int64_t certain_ns = 0;  // of a frame ahead: when its first token was known to be right
  int64_t ended_ns = 0;    // when its result arrived, or was abandoned
  std::vector<TracedSegment> segments;
  std::vector<wire::Hop> hops;  // if kDone: by stage, from first_stage on
  uint32_t first_stage = 0;
};

// One plan while it was in use.
struct TracedRoute {
  wire::RouteId id = 0;
  plan::Plan plan;
  std::vector<plan::PlanStage> stages;  // of both of its paths
  int64_t opened_ns = 0;
  int64_t ready_ns = 0;   // 0: never
  int64_t closed_ns = 0;  // 0: it is open
  std::string why;        // why it was closed; empty: it is open
};

// A phase of a request: waiting, beginning, prefill, decode and so on.
struct TracedPhase {
  uint64_t request = 0;
  const char* name = "";
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // 0: it has not ended
};

// Draft tokens that came from a drafter on another machine.
struct TracedDrafts {
  wire::NodeId node;
  uint64_t text = 0;   // the drafter's number of the answer
  uint32_t begin = 0;  // the position of the first of them
  uint32_t count = 0;
  int64_t arrived_ns = 0;
};

// Belongs to the conductor's thread. Keeps a bounded number of frames and phases, and counts those
// that it drops.
class Trace {
 public:
  explicit Trace(size_t limit = size_t{1} << 18) : limit_(limit) {}

  void OpenRoute(wire::RouteId id, const plan::Plan& plan, int64_t now_ns);
  void RouteIsReady(wire::RouteId id, int64_t now_ns);
  // Frames of the route that are in flight are lost.
  void CloseRoute(wire::RouteId id, const std::string& why, int64_t now_ns);

  void Send(uint64_t frame, bool is_decode, std::vector<TracedSegment> segments, int64_t now_ns,
            uint32_t first_stage = 0);
  // The frame, which was sent last, has draft tokens after draft tokens in flight.
  void MarkAhead(uint64_t frame);
  // The frame is not ahead any more: its first token is right.
  void MarkCertain(uint64_t frame, int64_t now_ns);
  // The frame's result came back.
  void Done(uint64_t frame, const std::vector<wire::Hop>& hops, int64_t now_ns);
  // No result of the frame is awaited any more. If it is not done, it was refused.
  void Close(uint64_t frame, int64_t now_ns);

  void AddDrafts(const TracedDrafts& drafts);

  // The request's phase ends, and one of this name begins; nullptr: none begins.
  void Phase(uint64_t request, const char* name, int64_t now_ns);

  const std::vector<TracedRoute>& routes() const { return routes_; }
  const std::vector<TracedFrame>& frames() const { return frames_; }  // as they were sent
  const std::vector<TracedPhase>& phases() const { return phases_; }
  const std::vector<TracedDrafts>& drafts() const { return drafts_; }
  uint64_t dropped() const { return dropped_; }

 private:
  TracedFrame* FindInFlight(uint64_t frame);

  const size_t limit_;
  std::vector<TracedRoute> routes_;
  std::vector<TracedFrame> frames_;
  std::vector<TracedPhase> phases_;
  std::vector<TracedDrafts> drafts_;
  std::map<uint64_t, size_t> in_flight_;      // frames by number: where they are in frames_
  std::map<uint64_t, size_t> current_phase_;  // by request: where it is in phases_
  uint64_t dropped_ = 0;
};

// A frame at a stage, on the conductor's clock.
struct StageSpan {
  size_t frame = 0;  // in Trace::frames()
  uint32_t stage = 0;
  int64_t arrived_ns = 0;
  int64_t started_ns = 0;
  int64_t ended_ns = 0;
  int64_t delivered_ns = 0;  // at the next stage, or at the conductor
};

// For a frame that was sent ahead and was right: how long a stage computed it before that was
// known.
int64_t FilledNs(const StageSpan& span, int64_t certain_ns);

// Appends the spans of a frame that is done, as if it had been alone on the route.
void PlaceFrame(const TracedFrame& frame, size_t index, std::vector<StageSpan>& spans);

// The spans of all frames that are done, ordered by when they were computed. The queue and compute
// times are exactly those that stages report. The rest of the time from sending a frame to its
// result was spent on links, and is divided among its hops by their bytes. Spans of a node's frames
// do not overlap: a later frame that would overlap is moved. So the error of a span is at most its
// frame's whole time on links.
std::vector<StageSpan> PlaceFrames(const Trace& trace);

// A time in which a node was idle although it could have computed.
struct Bubble {
  wire::NodeId node;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// The times between two frames of a node while any frame of its route was in flight.
std::vector<Bubble> FindBubbles(const Trace& trace, const std::vector<StageSpan>& spans);

}  // namespace aster::conduct
