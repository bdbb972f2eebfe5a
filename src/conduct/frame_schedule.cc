// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/frame_schedule.h"

#include <algorithm>

#include "kernels/pages.h"

namespace aster::conduct {
namespace {

constexpr uint32_t kFramePage = kernels::kPagePositions;
// Full frames for each stage, at the end of a prompt, that are cut into pages. More of them would
// cost more than they save: weights are read once a frame.
constexpr uint64_t kLastFrames = 1;

// Of prompts, where others wait.
void LeaveOutInFlight(std::vector<FrameItem>& items) {
  const auto is_in_flight = [](const FrameItem& item) { return item.live->in_flight > 0; };
  if (!std::ranges::all_of(items, is_in_flight)) std::erase_if(items, is_in_flight);
}

}  // namespace

FrameSchedule::FrameSchedule(const FrameScheduleOptions& options)
    : options_(options), budget_(options.chunk_pages * kFramePage, options.longest_frame_ns) {
  // As if frames had been computed until their length stays the same.
  constexpr int kExpected = 8;
  for (int i = 0; options.expected_token_ns > 0 && i < kExpected; ++i) {
    const uint32_t tokens = budget_.tokens();
    budget_.Note(tokens, static_cast<int64_t>(std::min(options.expected_token_ns * tokens, 1e15)));
  }
}

// Stages work on different requests at the same time: as many groups are in flight as there are
// stages, and each group is as small as that allows.
std::vector<Frame> FrameSchedule::Decodes(Requests running, DecodesInFlight in_flight) const {
  std::vector<Frame> frames;
  std::vector<FrameItem> ready;
  Path path;
  for (const auto& live : running) {
    if (!live->is_ready_to_decode()) continue;
    const FrameItem item{.live = live.get(), .count = 1};
    // Logits of all rows come from the path that computes the rows, not from the decode path.
    const bool is_apart = live->logits.is_wanted() && live->prefill_path != live->decode_path;
    path = live->decode_path;
    if (is_apart || live->IsContinuedBy(path)) {
      frames.push_back(
          {.items = {item}, .is_decode = true, .path = is_apart ? live->prefill_path : path});
    } else {
      ready.push_back(item);
    }
  }
  if (ready.empty()) return frames;
  const size_t stages = path.size();
  const size_t segments = in_flight.segments + frames.size() + ready.size();
  const size_t group = (segments + stages - 1) / stages;
  for (size_t begin = 0; begin < ready.size(); begin += group) {
    if (stages > 1 && in_flight.frames + frames.size() >= stages) break;
    const auto items = std::span(ready).subspan(begin, std::min(group, ready.size() - begin));
    frames.push_back({.items = {items.begin(), items.end()}, .is_decode = true, .path = path});
  }
  return frames;
}

// Pages in turn, beginning behind the request that had the last page before, so that long prompts
// and short ones come forward alike. A single stage gets frames that have no prompt in common,
// where there are several: it computes one while another waits for a device, or for what the other
// nodes of its group send.
std::optional<Frame> FrameSchedule::NextPrefill(Requests running, Path path, size_t in_flight) {
  if (in_flight >= path.size() * options_.frames_per_stage) return std::nullopt;
  Frame frame{.items = {}, .is_decode = false, .path = path};
  for (const auto& live : running) {
    if (live->has_prefill() && live->prefill_path == path) frame.items.push_back({live.get(), 0});
  }
  std::ranges::rotate(frame.items, std::ranges::find_if(frame.items, [&](const FrameItem& item) {
                        return item.live->request.id() > last_prefilled_;
                      }));
  const bool is_single = path.size() == 1;
  if (is_single) LeaveOutInFlight(frame.items);
  const uint32_t whole = TokensOfFrame(frame);
  uint32_t budget = whole;
  for (bool has_grown = true; has_grown && budget > 0;) {
    has_grown = false;
    for (FrameItem& item : frame.items) {
      while (AddPage(item, whole, budget)) {
        has_grown = true;
        if (!is_single) break;
      }
    }
  }
  std::erase_if(frame.items, [](const FrameItem& item) { return item.count == 0; });
  if (frame.items.empty()) return std::nullopt;
  return frame;
}

// Frames are short where few are left: of F frames through S stages a stage has something to do for
// F of F + S - 1 turns, and the last turns are the longest, as they look back the furthest.
uint32_t FrameSchedule::TokensOfFrame(const Frame& frame) const {
  const uint32_t full = budget_.tokens();
  const size_t stages = frame.path.size();
  uint64_t left = 0;
  for (const FrameItem& item : frame.items) left += item.live->prefill_end() - item.live->sent;
  const bool is_last = stages > 1 && left <= kLastFrames * stages * full;
  return is_last ? std::min(kFramePage, full) : full;
}

// Up to the next page boundary, where all of that fits into what is left of the frame. Whether any
// did.
bool FrameSchedule::AddPage(FrameItem& item, uint32_t whole, uint32_t& budget) {
  const LiveRequest& live = *item.live;
  const uint32_t begin = live.sent + item.count;
  uint32_t count = std::min(live.prefill_end() - begin, kFramePage - begin % kFramePage);
  if (live.logits.is_wanted()) count = std::min(count, live.logits.chunk() - item.count);
  // A frame of less than a page has to be enough.
  if (count > budget && budget == whole) count = budget;
  if (count == 0 || count > budget) return false;
  item.count += count;
  budget -= count;
  last_prefilled_ = live.request.id();
  return true;
}

}  // namespace aster::conduct
