// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Chooses the tokens of requests for the next frame, so that all stages have work and no request
// waits for the whole of another one's prompt. Must not know messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "conduct/live_request.h"
#include "conduct/path.h"
#include "engine/prefill_budget.h"

namespace aster::conduct {

// The next `count` tokens of a request that were not sent.
struct FrameItem {
  LiveRequest* live = nullptr;
  uint32_t count = 0;
};

struct Frame {
  std::vector<FrameItem> items;
  bool is_decode = false;
  Path path;
};

struct FrameScheduleOptions {
  uint32_t chunk_pages = 2;       // of prompts, in a frame
  uint32_t frames_per_stage = 2;  // of prompts, in flight
  // If a stage takes longer for a frame, the next frames are smaller; 0: all have whole pages.
  int64_t longest_frame_ns = 0;
  // The planned time of a prompt's token, which limits the first frames. 0: not known; then frames
  // are short until the first ones were computed.
  double expected_token_ns = 0;
};

class FrameSchedule {
 public:
  using Requests = std::span<const std::unique_ptr<LiveRequest>>;
  struct DecodesInFlight {
    size_t frames = 0;
    size_t segments = 0;
  };

  explicit FrameSchedule(const FrameScheduleOptions& options);

  // Frames of the requests that are ready to decode, as many as may be in flight.
  std::vector<Frame> Decodes(Requests running, DecodesInFlight in_flight) const;
  // A frame with prompt tokens for this path, which has `in_flight` frames in flight; nothing if
  // these are enough, or no request has a prompt for it.
  std::optional<Frame> NextPrefill(Requests running, Path path, size_t in_flight);
  // A frame with this many prompt tokens was computed; the slowest stage took `stage_ns`.
  void NotePrefill(uint32_t tokens, int64_t stage_ns) { budget_.Note(tokens, stage_ns); }

 private:
  uint32_t TokensOfFrame(const Frame& frame) const;
  bool AddPage(FrameItem& item, uint32_t whole, uint32_t& budget);

  const FrameScheduleOptions options_;
  engine::PrefillBudget budget_;          // tokens of a frame
  engine::RequestId last_prefilled_ = 0;  // which had the last page
};

}  // namespace aster::conduct
