// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Frames (micro-batches) in flight on a route, pipeline parallel: makes messages of them, and finds
// for each answer the segment that it is about. A request may have any number of segments in
// flight, in any frames. Must not know which frames are worth sending, nor what becomes of an
// answer.
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

// Tokens of a request that the stages of a path have.
struct Segment {
  LiveRequest* live = nullptr;  // null: no request waits for it any more
  uint64_t frame = 0;
  Path path;
  uint32_t begin = 0;
  uint32_t end = 0;
  wire::Wanted wanted = wire::Wanted::kNothing;
  // Tokens that may follow it, each computed by the stage without being asked for.
  uint32_t more = 0;
  bool is_halted = false;                             // none of them is wanted any more
  std::shared_ptr<const std::vector<int32_t>> stops;  // behind which none follows
  // Draft tokens that were sent behind it; as many as are right are answered, too.
  std::vector<int32_t> drafts;
  uint32_t accepted = 0;
  // Its first token is a draft token as well, and was not checked yet.
  bool is_ahead = false;
  int32_t first = -1;  // that token

  // Of logits or states that its answer brings.
  size_t row_count() const;
};

// What the stages say about a segment. Rows: of logits, or of states where these were asked for.
using SegmentSink =
    FunctionRef<void(const Segment&, const wire::SegmentResult&, std::span<const float> rows)>;

// Of one route. All that it is given outlives it, as do requests with segments in flight (Abandon).
class Pipeline {
 public:
  struct Context {
    RouteClient& route;
    const Clock& clock;
    RouteDrafts& drafts;
    FrameSchedule& schedule;  // is told what frames of prompts took
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
  // Whether draft tokens may follow those of the request that are in flight: it wants them, and
  // stages are idle otherwise.
  bool MayGoAhead(const LiveRequest& live) const;
  // Sends draft tokens behind those that are in flight (DraftChain).
  void SendAhead(LiveRequest& live, std::vector<int32_t> drafts);
  // Tells stages what they need not compute. After frames that are certain were sent.
  void SendCancels();

  // Whether it answers what was asked.
  Status Check(const wire::Done& done) const;
  // Of a message that was checked. A request that ends in the sink has abandoned its segments.
  void Take(const wire::Done& done, int64_t arrived_ns, SegmentSink sink);
  // A stage did not compute a segment, which is not in flight any more. Nothing if it was not.
  // Draft tokens behind it are of no use then.
  std::optional<Segment> Refuse(uint64_t attempt);

  // A stage that decodes the request by itself goes on no longer.
  void Halt(const LiveRequest& live);
  // Whether stages compute anything of it but what was halted.
  bool IsComputing(const LiveRequest& live) const;
  // Whatever stages still say about its segments is of no use.
  void Abandon(LiveRequest& live);

  bool empty() const { return segments_.empty(); }
  FrameSchedule::DecodesInFlight decodes() const;
  size_t prefill_frames(Path path) const;

 private:
  struct FrameInFlight {
    size_t open = 0;      // segments
    uint32_t tokens = 0;  // of prompts
    bool is_decode = false;
    bool is_ahead = false;  // draft tokens behind draft tokens: it fills what others leave
    uint32_t rows = 0;      // of decode
    Path path;
    int64_t sent_ns = 0;     // 0: the stage went on by itself
    int64_t certain_ns = 0;  // when its draft tokens were not ahead any more; 0: they never were
  };

  wire::WorkSegment Launch(const Frame& frame, size_t index);
  bool IsAlone(const Frame& frame) const;
  Segment Land(uint64_t attempt);
  Segment* FirstAhead(const LiveRequest* live);
  size_t AheadOf(const LiveRequest& live) const;
  void Settle(LiveRequest* live);
  bool Drop(const LiveRequest& live, uint64_t first = 0);
  void Cancel(const LiveRequest& live);
  LiveRequest* TakeEdited(const wire::SegmentResult& result, std::span<const float> rows,
                          SegmentSink sink);
  bool IsContinued(const wire::SegmentResult& result) const;
  void Continue(uint64_t attempt);
  void EnterFrame(const FrameInFlight& frame, std::vector<TracedSegment> traced);
  void LeaveFrame(uint64_t number);
  size_t FloatsOf(const Segment& segment) const;
  void CountHops(const wire::Done& done, int64_t arrived_ns);
  void CountBubbles(const TracedFrame& frame, int64_t certain_ns);

  const Context at_;
  std::map<uint64_t, Segment> segments_;            // by attempt
  std::map<uint64_t, FrameInFlight> frames_;        // by number
  std::map<wire::SequenceId, uint64_t> cancelled_;  // attempts up to which, until stages are told
};

}  // namespace aster::conduct
