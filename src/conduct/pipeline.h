// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Frames (micro-batches) in flight on a route, pipeline parallel: sends them as messages, and finds
// the segment that each result belongs to. A request may have any number of segments in flight, in
// any frames. Must not know which frames are worth sending, nor how results are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "conduct/counters.h"
#include "conduct/frame_schedule.h"
#include "conduct/frame_times.h"
#include "conduct/live_request.h"
#include "conduct/route_client.h"
#include "conduct/route_drafts.h"
#include "conduct/stage_pace.h"
#include "conduct/stage_times.h"
#include "conduct/trace.h"
#include "wire/messages.h"

namespace aster::conduct {

// Tokens of a request that were sent to the stages of a path.
struct Segment {
  LiveRequest* live = nullptr;  // null: abandoned, its results are ignored
  uint64_t frame = 0;
  Path path;
  uint32_t begin = 0;
  uint32_t end = 0;
  wire::Wanted wanted = wire::Wanted::kNothing;
  // How many more tokens the stage may decode by itself.
  uint32_t more = 0;
  bool is_halted = false;                             // the stage was told to decode no more
  std::shared_ptr<const std::vector<int32_t>> stops;  // tokens that end the answer
  // Draft tokens that were sent with it. Each accepted one has a result, too.
  std::vector<int32_t> drafts;
  uint32_t accepted = 0;
  // It was sent ahead: its first token is an unchecked draft token, too.
  bool is_ahead = false;
  int32_t first = -1;  // that token

  // Rows of logits or states in its result.
  size_t row_count() const;
};

// Gets the result of a segment. `rows` are logits, or states if these were wanted.
using SegmentSink =
    FunctionRef<void(const Segment&, const wire::SegmentResult&, std::span<const float> rows)>;

// The frames of one route. The members of Context outlive it, as do requests with segments in
// flight (else call Abandon).
class Pipeline {
 public:
  struct Context {
    RouteClient& route;
    const Clock& clock;
    RouteDrafts& drafts;
    FrameSchedule& schedule;  // learns the times of frames with prompts
    StageTimes& times;
    FrameTimes& frame_times;
    StagePace& pace;
    Numbers& numbers;
    ConductorCounters& counters;
    Trace* trace;  // or null
    wire::RowEncoding encoding;
    uint32_t vocab_size;
    uint32_t embedding;
  };

  explicit Pipeline(const Context& context) : at_(context) {}

  void Send(const Frame& frame);
  // Whether draft tokens may be sent after those of the request that are in flight: its pace wants
  // them, and stages would be idle otherwise.
  bool MayDraftAhead(const LiveRequest& live) const;
  // Sends draft tokens after those that are in flight (DraftChain).
  void SendAhead(LiveRequest& live, std::vector<int32_t> drafts);
  // Tells stages which segments they need not compute. Call it after Send, so that frames that are
  // needed do not wait behind these messages.
  void SendCancels();

  // An error if the message is not a valid result of segments in flight.
  Status Check(const wire::Done& done) const;
  // Takes a checked message. The sink may end requests, which then have abandoned their segments.
  void Take(const wire::Done& done, int64_t arrived_ns, SegmentSink sink);
  // A stage refused a segment: removes and returns it; nothing if it was not in flight. Draft
  // tokens after it are dropped.
  std::optional<Segment> Refuse(uint64_t attempt);

  // Tells a stage that decodes the request by itself to stop.
  void Halt(const LiveRequest& live);
  // Whether stages still compute segments of the request that were not halted.
  bool IsComputing(const LiveRequest& live) const;
  // From now on results of the request's segments are ignored.
  void Abandon(LiveRequest& live);

  bool empty() const { return segments_.empty(); }
  FrameSchedule::DecodesInFlight decodes() const;
  size_t prefill_frames(Path path) const;

 private:
  struct FrameInFlight {
    size_t open = 0;      // segments
    uint32_t tokens = 0;  // of prompts
    bool is_decode = false;
    bool is_ahead = false;  // its segment is ahead: it only uses stages that are idle
    uint32_t rows = 0;      // of decode
    Path path;
    int64_t sent_ns = 0;     // 0: the stage continued by itself
    int64_t certain_ns = 0;  // when it stopped being ahead; 0: it never was ahead
  };

  wire::WorkSegment StartSegment(const Frame& frame, size_t index);
  bool IsAlone(const Frame& frame) const;
  Segment FinishSegment(uint64_t attempt);
  Segment* FirstAhead(const LiveRequest* live);
  size_t AheadOf(const LiveRequest& live) const;
  void Settle(LiveRequest* live);
  bool Drop(const LiveRequest& live, uint64_t first = 0);
  void Cancel(const LiveRequest& live);
  LiveRequest* TakeEdited(const wire::SegmentResult& result, std::span<const float> rows,
                          SegmentSink sink);
  bool IsContinued(const wire::SegmentResult& result) const;
  void Continue(uint64_t attempt);
  void AddFrame(const FrameInFlight& frame, std::vector<TracedSegment> traced);
  void RemoveFrame(uint64_t number);
  size_t FloatsOf(const Segment& segment) const;
  void CountHops(const wire::Done& done, int64_t arrived_ns);
  void CountBubbles(const TracedFrame& frame, int64_t certain_ns);

  const Context at_;
  std::map<uint64_t, Segment> segments_;            // by attempt
  std::map<uint64_t, FrameInFlight> frames_;        // by number
  std::map<wire::SequenceId, uint64_t> cancelled_;  // up to this attempt; stages are not told yet
};

}  // namespace aster::conduct
