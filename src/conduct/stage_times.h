// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How long each stage of a route computes, waits, sends and is idle, from the hops of its frames.
// Must not know requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/messages.h"

namespace aster::conduct {

// The times of one stage since the route was opened.
struct HopFigures {
  uint64_t frames = 0;
  uint64_t queue_ns = 0;
  uint64_t compute_ns = 0;
  uint64_t sent_bytes = 0;
  uint64_t gather_ns = 0;       // part of compute_ns: waiting for the other nodes of its group
  uint64_t gather_bytes = 0;    // bytes that the leader has sent to these
  uint64_t gathers = 0;         // number of gathers
  uint64_t gather_send_ns = 0;  // part of compute_ns: sending gather_bytes
  uint64_t send_ns = 0;  // frames were on the way to the next stage or back (conduct/trace.h)
  uint64_t idle_ns = 0;  // frames were in flight on the route, and it computed none of them
};

class StageTimes {
 public:
  // Another route is opened, of this many stages.
  void Reset(size_t stages);

  // Begin: from now on frames are in flight. End: no frame is in flight, or the route is closed.
  void Begin(int64_t now_ns) { busy_since_ns_ = now_ns; }
  void End(int64_t now_ns);
  // A frame went through the stages from `first_stage` on; `hops` has their times. `sent_ns` and
  // `arrived_ns` are 0 if unknown: it was not sent, or its answer has no time of arrival.
  void Add(uint32_t first_stage, std::span<const wire::Hop> hops, int64_t sent_ns,
           int64_t arrived_ns);

  std::vector<HopFigures> Totals(int64_t now_ns) const;

 private:
  static constexpr int64_t kNotBusy = -1;

  std::vector<HopFigures> totals_;  // without idle_ns
  int64_t busy_ns_ = 0;             // time with frames in flight, until the last End
  int64_t busy_since_ns_ = kNotBusy;
};

}  // namespace aster::conduct
