// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which tokens of which requests go into the next frame, so that all stages have something to do
// and no request waits for another one's prompt. Must not know messages.
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

// `count` tokens of a request, behind those that were sent.
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
  // Frames that a stage computes for longer are followed by smaller ones; 0: all are of pages.
  int64_t longest_frame_ns = 0;
  // Of a token, as it is planned: the first frames are as long as that allows. 0: not known, and
  // they are short until the first ones were computed.
  double expected_token_ns = 0;
};

class FrameSchedule {
 public:
  using Requests = std::span<const std::unique_ptr<LiveRequest>>;
  // Frames of decode, and their segments.
  struct DecodesInFlight {
    size_t frames = 0;
    size_t segments = 0;
  };

  explicit FrameSchedule(const FrameScheduleOptions& options);

  // Of all requests that are ready to decode, as far as there is room for more frames.
  std::vector<Frame> Decodes(Requests running, DecodesInFlight in_flight) const;
  // Prompts of the requests that this path computes, given its number of frames in flight; nothing
  // where that is enough, or none has a prompt.
  std::optional<Frame> NextPrefill(Requests running, Path path, size_t in_flight);
  // A frame of that many tokens of prompts is computed; `stage_ns`: by the slowest stage.
  void NotePrefill(uint32_t tokens, int64_t stage_ns) { budget_.Note(tokens, stage_ns); }

 private:
  uint32_t TokensOfFrame(const Frame& frame) const;
  bool AddPage(FrameItem& item, uint32_t whole, uint32_t& budget);

  const FrameScheduleOptions options_;
  engine::PrefillBudget budget_;          // tokens of a frame
  engine::RequestId last_prefilled_ = 0;  // which had the last page
};

}  // namespace aster::conduct
