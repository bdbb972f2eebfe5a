// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "base/json_string.h"

namespace aster::conduct {
namespace {

// The conductor's process; nodes follow.
constexpr int kConductor = 1;
// Threads of the conductor.
constexpr int kRoutes = 1;
constexpr int kRequests = 2;
constexpr int kFrames = 3;
constexpr int kDrafters = 4;
// Threads of a node: its bubbles, then its stages.
constexpr int kIdle = 1;
constexpr int kFirstStage = 2;

struct Place {
  int process = 0;
  int thread = 0;
};

class Writer {
 public:
  explicit Writer(int64_t start_ns) : start_ns_(start_ns) { text_ = "[\n"; }

  std::string Finish() && {
    text_ += "\n]\n";
    return std::move(text_);
  }

  // `what` is process_name or thread_name.
  void Name(std::string_view what, const Place& place, std::string_view name) {
    Begin(what, "M", place);
    text_ += ",\"args\":{\"name\":";
    AppendJsonString(text_, name);
    text_ += "}}";
  }
  // An event that overlaps with no other on its thread.
  void Span(std::string_view name, const Place& place, int64_t begin_ns, int64_t end_ns,
            std::string_view arguments) {
    Begin(name, "X", place);
    Time("ts", begin_ns - start_ns_);
    Time("dur", end_ns - begin_ns);
    Append(",\"args\":{{{}}}}}", arguments);
  }
  // An event without a duration.
  void Moment(std::string_view name, const Place& place, int64_t at_ns,
              std::string_view arguments) {
    Begin(name, "i", place);
    Time("ts", at_ns - start_ns_);
    Append(",\"s\":\"t\",\"args\":{{{}}}}}", arguments);
  }
  // An event that others of its kind may overlap with; `id` tells them apart.
  void Overlapping(std::string_view name, std::string_view kind, uint64_t id, const Place& place,
                   int64_t begin_ns, int64_t end_ns, std::string_view arguments) {
    for (const char* phase : {"b", "e"}) {
      Begin(name, phase, place);
      Append(",\"cat\":\"{}\",\"id\":\"{}-{}-{}\"", kind, place.process, place.thread, id);
      Time("ts", (*phase == 'b' ? begin_ns : end_ns) - start_ns_);
      Append(",\"args\":{{{}}}}}", *phase == 'b' ? arguments : "");
    }
  }

 private:
  template <typename... Args>
  void Append(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void Begin(std::string_view name, std::string_view phase, const Place& place) {
    if (has_events_) text_ += ",\n";
    has_events_ = true;
    text_ += "{\"name\":";
    AppendJsonString(text_, name);
    Append(",\"ph\":\"{}\",\"pid\":{},\"tid\":{}", phase, place.process, place.thread);
  }
  void Time(std::string_view key, int64_t ns) {
    const bool is_negative = ns < 0;
    const auto size = static_cast<uint64_t>(is_negative ? -ns : ns);
    Append(",\"{}\":{}{}.{:03}", key, is_negative ? "-" : "", size / 1000, size % 1000);
  }

  const int64_t start_ns_;
  std::string text_;
  bool has_events_ = false;
};

// {"sequence 3: 256-511"}, of all its segments.
std::string DescribeFrame(const TracedFrame& frame) {
  constexpr size_t kMostSegments = 8;
  std::string text = fmt::format("\"frame\":{},\"segments\":[", frame.number);
  for (size_t i = 0; i < std::min(frame.segments.size(), kMostSegments); ++i) {
    const TracedSegment& segment = frame.segments[i];
    text += fmt::format("{}\"sequence {}, positions {} to {}\"", i == 0 ? "" : ",",
                        segment.sequence, segment.begin, segment.end - 1);
  }
  uint64_t tokens = 0, drafts = 0;
  for (const TracedSegment& segment : frame.segments) {
    tokens += segment.end - segment.begin;
    drafts += segment.drafts;
  }
  text += fmt::format("],\"sequences\":{},\"tokens\":{}", frame.segments.size(), tokens);
  return drafts == 0 ? text : text + fmt::format(",\"draft_tokens\":{}", drafts);
}

const char* NameOf(const TracedFrame& frame) {
  if (frame.is_ahead) return "draft tokens ahead";
  return frame.is_decode ? "answer" : "prompt";
}

const char* FateName(TracedFrame::Fate fate) {
  switch (fate) {
    case TracedFrame::Fate::kInFlight:
      return "in flight";
    case TracedFrame::Fate::kDone:
      return "done";
    case TracedFrame::Fate::kRefused:
      return "refused";
    case TracedFrame::Fate::kLost:
      return "lost";
  }
  return "";
}

class ChromeTrace {
 public:
  explicit ChromeTrace(const Trace& trace)
      : trace_(trace),
        writer_(trace.routes().empty() ? 0 : trace.routes().front().opened_ns),
        end_ns_(EndOf(trace)) {}

  std::string Write() && {
    NameProcesses();
    WriteConductor();
    WriteDrafts();
    const std::vector<StageSpan> spans = PlaceFrames(trace_);
    for (const StageSpan& span : spans) WriteStage(span);
    for (const Bubble& bubble : FindBubbles(trace_, spans)) {
      writer_.Span("bubble", {processes_.at(bubble.node), kIdle}, bubble.begin_ns, bubble.end_ns,
                   "");
    }
    return std::move(writer_).Finish();
  }

 private:
  // The time of the last event: the end of those that have not ended.
  static int64_t EndOf(const Trace& trace) {
    int64_t end_ns = 0;
    for (const TracedRoute& route : trace.routes()) {
      end_ns = std::max({end_ns, route.opened_ns, route.ready_ns, route.closed_ns});
    }
    for (const TracedFrame& frame : trace.frames()) {
      end_ns = std::max({end_ns, frame.sent_ns, frame.ended_ns});
    }
    for (const TracedDrafts& drafts : trace.drafts()) {
      end_ns = std::max(end_ns, drafts.arrived_ns);
    }
    for (const TracedPhase& phase : trace.phases()) {
      end_ns = std::max({end_ns, phase.begin_ns, phase.end_ns});
    }
    return end_ns;
  }

  void NameProcesses() {
    writer_.Name("process_name", {kConductor, 0}, "conductor");
    writer_.Name("thread_name", {kConductor, kRoutes}, "routes");
    writer_.Name("thread_name", {kConductor, kRequests}, "requests");
    writer_.Name("thread_name", {kConductor, kFrames}, "frames");
    if (!trace_.drafts().empty()) {
      writer_.Name("thread_name", {kConductor, kDrafters}, "draft tokens of other machines");
    }
    for (const TracedRoute& route : trace_.routes()) {
      for (const plan::PlanStage& stage : route.stages) {
        const int next = kConductor + 1 + static_cast<int>(processes_.size());
        const auto [place, is_new] = processes_.try_emplace(stage.node.id, next);
        if (is_new) {
          writer_.Name("process_name", {next, 0},
                       fmt::format("{} ({})", stage.node.name, stage.node.id.ToText()));
          writer_.Name("thread_name", {next, kIdle}, "bubbles");
        }
        const auto [slice, is_new_slice] = threads_.try_emplace(
            {stage.node.id, plan::DescribeSlice(stage.slice)}, static_cast<int>(threads_.size()));
        if (is_new_slice) {
          writer_.Name("thread_name", {place->second, kFirstStage + slice->second},
                       plan::DescribeSlice(stage.slice));
        }
      }
    }
  }

  Place PlaceOf(const plan::PlanStage& stage) const {
    return {processes_.at(stage.node.id),
            kFirstStage + threads_.at({stage.node.id, plan::DescribeSlice(stage.slice)})};
  }
  int64_t EndOr(int64_t end_ns) const { return end_ns == 0 ? end_ns_ : end_ns; }

  void WriteConductor() {
    for (const TracedRoute& route : trace_.routes()) {
      std::string arguments = "\"plan\":";
      AppendJsonString(arguments, plan::DescribePlan(route.plan));
      if (!route.why.empty()) {
        arguments += ",\"closed\":";
        AppendJsonString(arguments, route.why);
      }
      const int64_t closed_ns = EndOr(route.closed_ns);
      const int64_t ready_ns = route.ready_ns == 0 ? closed_ns : route.ready_ns;
      writer_.Span("opening", {kConductor, kRoutes}, route.opened_ns, ready_ns, arguments);
      if (ready_ns < closed_ns) {
        writer_.Span("route", {kConductor, kRoutes}, ready_ns, closed_ns, arguments);
      }
    }
    for (const TracedPhase& phase : trace_.phases()) {
      writer_.Overlapping(phase.name, "request", phase.request, {kConductor, kRequests},
                          phase.begin_ns, EndOr(phase.end_ns),
                          fmt::format("\"request\":{}", phase.request));
    }
    for (size_t i = 0; i < trace_.frames().size(); ++i) {
      const TracedFrame& frame = trace_.frames()[i];
      writer_.Overlapping(
          NameOf(frame), "frame", i, {kConductor, kFrames}, frame.sent_ns, EndOr(frame.ended_ns),
          fmt::format("\"fate\":\"{}\",{}", FateName(frame.fate), DescribeFrame(frame)));
    }
  }

  void WriteDrafts() {
    for (const TracedDrafts& drafts : trace_.drafts()) {
      writer_.Moment(
          "draft tokens", {kConductor, kDrafters}, drafts.arrived_ns,
          fmt::format("\"node\":\"{}\",\"text\":{},\"from_position\":{},\"draft_tokens\":{}",
                      drafts.node.ToText(), drafts.text, drafts.begin, drafts.count));
    }
  }

  void WriteStage(const StageSpan& span) {
    const TracedFrame& frame = trace_.frames()[span.frame];
    const auto route = std::ranges::find(trace_.routes(), frame.route, &TracedRoute::id);
    const Place place = PlaceOf(route->stages[span.stage]);
    const std::string arguments = DescribeFrame(frame);
    writer_.Overlapping("waiting", "waiting", span.frame, place, span.arrived_ns, span.started_ns,
                        arguments);
    const wire::Hop& hop = frame.hops[span.stage - frame.first_stage];
    std::string more;
    if (const int64_t filled_ns = FilledNs(span, frame.certain_ns); filled_ns > 0) {
      more = fmt::format(",\"bubble_filled_us\":{}", filled_ns / 1000);
    }
    if (hop.gather_bytes > 0) {
      more += fmt::format(
          ",\"gathers\":{},\"gather_us\":{},\"gather_send_us\":{},\"gather_bytes\":{}", hop.gathers,
          hop.gather_ns / 1000, hop.gather_send_ns / 1000, hop.gather_bytes);
    }
    writer_.Span(NameOf(frame), place, span.started_ns, span.ended_ns, arguments + more);
    writer_.Overlapping("sending", "sending", span.frame, place, span.ended_ns, span.delivered_ns,
                        fmt::format("{},\"bytes\":{}", arguments, hop.bytes_out));
  }

  const Trace& trace_;
  Writer writer_;
  const int64_t end_ns_;
  std::map<wire::NodeId, int> processes_;
  std::map<std::pair<wire::NodeId, std::string>, int> threads_;
};

}  // namespace

std::string ToChromeTrace(const Trace& trace) { return ChromeTrace(trace).Write(); }

}  // namespace aster::conduct
