// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What became of every frame of a conductor's routes, and when: written down as it happens, and put
// on one time line afterwards. Clocks of machines differ, so nothing is said here but what the
// conductor's own clock saw and how long stages say that they took. Must not know how it is shown.
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
  uint32_t drafts = 0;  // of its tokens: draft tokens
};

struct TracedFrame {
  enum class Fate : uint8_t { kUnderWay, kDone, kRefused, kLost };

  wire::RouteId route = 0;
  uint64_t number = 0;
  bool is_decode = false;
  bool is_ahead = false;  // draft tokens behind draft tokens in flight
  Fate fate = Fate::kUnderWay;
  int64_t sent_ns = 0;
  int64_t certain_ns = 0;  // of draft tokens ahead: when those before them had come, and were right
  int64_t ended_ns = 0;    // its result arrived, or is not waited for any more
  std::vector<TracedSegment> segments;
  std::vector<wire::Hop> hops;  // of kDone, by stage from the first that it went to
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
  std::string why;        // it was closed; empty: it is open
};

// A request while it waits, is begun, reads its prompt or answers.
struct TracedPhase {
  uint64_t request = 0;
  const char* name = "";
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // 0: it goes on
};

// Draft tokens that came from a drafter on another machine.
struct TracedDrafts {
  wire::NodeId node;
  uint64_t text = 0;   // the drafter's number of the answer
  uint32_t begin = 0;  // the position of the first of them
  uint32_t count = 0;
  int64_t arrived_ns = 0;
};

// Belongs to the conductor's thread. Keeps a bounded number of frames and phases, and counts the
// others.
class Trace {
 public:
  explicit Trace(size_t limit = size_t{1} << 18) : limit_(limit) {}

  void OpenRoute(wire::RouteId id, const plan::Plan& plan, int64_t now_ns);
  void RouteIsReady(wire::RouteId id, int64_t now_ns);
  // Its frames that are in flight are lost.
  void CloseRoute(wire::RouteId id, const std::string& why, int64_t now_ns);

  void Send(uint64_t frame, bool is_decode, std::vector<TracedSegment> segments, int64_t now_ns,
            uint32_t first_stage = 0);
  // The frame that was sent last is of draft tokens behind draft tokens.
  void GoesAhead(uint64_t frame);
  // It is not ahead of anything any more, and its first token is right.
  void IsCertain(uint64_t frame, int64_t now_ns);
  // The answer came back.
  void Done(uint64_t frame, const std::vector<wire::Hop>& hops, int64_t now_ns);
  // Its result is not waited for any more: it was refused, unless it was done.
  void Land(uint64_t frame, int64_t now_ns);

  void DraftsCame(const TracedDrafts& drafts);

  // The request's phase ends, and one of this name begins; with nullptr none does.
  void Phase(uint64_t request, const char* name, int64_t now_ns);

  const std::vector<TracedRoute>& routes() const { return routes_; }
  const std::vector<TracedFrame>& frames() const { return frames_; }  // as they were sent
  const std::vector<TracedPhase>& phases() const { return phases_; }
  const std::vector<TracedDrafts>& drafts() const { return drafts_; }
  uint64_t dropped() const { return dropped_; }

 private:
  TracedFrame* FrameUnderWay(uint64_t frame);

  const size_t limit_;
  std::vector<TracedRoute> routes_;
  std::vector<TracedFrame> frames_;
  std::vector<TracedPhase> phases_;
  std::vector<TracedDrafts> drafts_;
  std::map<uint64_t, size_t> under_way_;      // frames by number: where they are in frames_
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

// Of a frame that was sent ahead, and was right: the part of the time at a stage in which this was
// not known. A frame at a time, the stage would have had nothing to compute then.
int64_t FilledNs(const StageSpan& span, int64_t certain_ns);

// Appends where a frame that is done was, as if it had been alone.
void PlaceFrame(const TracedFrame& frame, size_t index, std::vector<StageSpan>& spans);

// Where frames that are done were, ordered by when they were computed. How long each waited and was
// computed is what its stages say, to the nanosecond; between the moments when the conductor sent
// it and heard of it, the time that is left was spent on the way, and is shared out among its hops
// by their bytes. Times of a node's frames do not overlap: where they would, the later frame
// moves. So a span is off by no more than its frame's whole time on the way.
std::vector<StageSpan> PlaceFrames(const Trace& trace);

// When a node could have computed and had nothing to.
struct Bubble {
  wire::NodeId node;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// Between two frames of a node while any frame of its route was in flight.
std::vector<Bubble> FindBubbles(const Trace& trace, const std::vector<StageSpan>& spans);

}  // namespace aster::conduct
