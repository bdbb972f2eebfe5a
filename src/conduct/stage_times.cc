// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/stage_times.h"

#include <algorithm>

#include "conduct/trace.h"

namespace aster::conduct {

void StageTimes::Reset(size_t stages) {
  totals_.assign(stages, {});
  busy_ns_ = 0;
  busy_since_ns_ = kNotBusy;
}

void StageTimes::End(int64_t now_ns) {
  if (busy_since_ns_ == kNotBusy) return;
  busy_ns_ += now_ns - busy_since_ns_;
  busy_since_ns_ = kNotBusy;
}

void StageTimes::Add(uint32_t first_stage, std::span<const wire::Hop> hops, int64_t sent_ns,
                     int64_t arrived_ns) {
  for (size_t i = 0; i < hops.size() && first_stage + i < totals_.size(); ++i) {
    HopFigures& totals = totals_[first_stage + i];
    ++totals.frames;
    totals.queue_ns += hops[i].queue_ns;
    totals.compute_ns += hops[i].compute_ns;
    totals.sent_bytes += hops[i].bytes_out;
    totals.gather_ns += hops[i].gather_ns;
    totals.gather_bytes += hops[i].gather_bytes;
    totals.gathers += hops[i].gathers;
    totals.gather_send_ns += hops[i].gather_send_ns;
  }
  if (sent_ns == 0 || arrived_ns <= sent_ns) return;
  // The rest of the frame's time was spent between stages. Times from other machines are not
  // trusted: none can be longer than the whole frame.
  const auto longest_ns = static_cast<uint64_t>(arrived_ns - sent_ns);
  TracedFrame frame{.sent_ns = sent_ns,
                    .ended_ns = arrived_ns,
                    .segments = {},
                    .hops = {hops.begin(), hops.end()},
                    .first_stage = first_stage};
  for (wire::Hop& hop : frame.hops) {
    hop.queue_ns = std::min(hop.queue_ns, longest_ns);
    hop.compute_ns = std::min(hop.compute_ns, longest_ns);
  }
  std::vector<StageSpan> spans;
  PlaceFrame(frame, /*index=*/0, spans);
  for (const StageSpan& span : spans) {
    if (span.stage >= totals_.size()) break;
    totals_[span.stage].send_ns +=
        static_cast<uint64_t>(std::max<int64_t>(0, span.delivered_ns - span.ended_ns));
  }
}

std::vector<HopFigures> StageTimes::Totals(int64_t now_ns) const {
  const int64_t since_ns = busy_since_ns_ == kNotBusy ? now_ns : busy_since_ns_;
  const auto busy_ns = static_cast<uint64_t>(busy_ns_ + now_ns - since_ns);
  std::vector<HopFigures> totals = totals_;
  for (HopFigures& stage : totals) stage.idle_ns = busy_ns - std::min(busy_ns, stage.compute_ns);
  return totals;
}

}  // namespace aster::conduct
