// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/frame_schedule.h"

#include <algorithm>

#include "kernels/pages.h"

namespace aster::conduct {
namespace {

constexpr uint32_t kFramePage = kernels::kPagePositions;
// The last full frames of prompts, for each stage, that are divided into frames of a page. More of
// them would cost more than they save, as weights are read once a frame.
constexpr uint64_t kLastFrames = 1;

// Keeps only requests with nothing in flight, if there are any.
void LeaveOutInFlight(std::vector<FrameItem>& items) {
  const auto is_in_flight = [](const FrameItem& item) { return item.live->in_flight > 0; };
  if (!std::ranges::all_of(items, is_in_flight)) std::erase_if(items, is_in_flight);
}

}  // namespace

FrameSchedule::FrameSchedule(const FrameScheduleOptions& options)
    : options_(options), budget_(options.chunk_pages * kFramePage, options.longest_frame_ns) {
  // Simulates frames of the expected time until the budget is stable.
  constexpr int kExpected = 8;
  for (int i = 0; options.expected_token_ns > 0 && i < kExpected; ++i) {
    const uint32_t tokens = budget_.tokens();
    budget_.Note(tokens, static_cast<int64_t>(std::min(options.expected_token_ns * tokens, 1e15)));
  }
}

// Divides the requests into as many groups as there are stages, each with a frame, so that all
// stages work at the same time.
std::vector<Frame> FrameSchedule::Decodes(Requests running, DecodesInFlight in_flight) const {
  std::vector<Frame> frames;
  std::vector<FrameItem> ready;
  Path path;
  for (const auto& live : running) {
    if (!live->is_ready_to_decode()) continue;
    const FrameItem item{.live = live.get(), .count = 1};
    // The path that computes the prompt also computes its last row if logits of rows are wanted.
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

// Requests take turns with a page each, beginning after the one that had the last page, so that
// long prompts do not hold up short ones. A single stage gets frames with different prompts if
// possible: it computes one while another waits for a device, or for other nodes of its group.
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

// The last frames of prompts are short: with F frames through S stages a stage works in F of
// F + S - 1 turns, so more frames leave fewer bubbles, and the last turns take longest (attention).
uint32_t FrameSchedule::TokensOfFrame(const Frame& frame) const {
  const uint32_t full = budget_.tokens();
  const size_t stages = frame.path.size();
  uint64_t left = 0;
  for (const FrameItem& item : frame.items) left += item.live->prefill_end() - item.live->sent;
  const bool is_last = stages > 1 && left <= kLastFrames * stages * full;
  return is_last ? std::min(kFramePage, full) : full;
}

// Adds tokens up to the next page boundary, if all of them fit into the frame; false if none did.
bool FrameSchedule::AddPage(FrameItem& item, uint32_t whole, uint32_t& budget) {
  const LiveRequest& live = *item.live;
  const uint32_t begin = live.sent + item.count;
  uint32_t count = std::min(live.prefill_end() - begin, kFramePage - begin % kFramePage);
  if (live.logits.is_wanted()) count = std::min(count, live.logits.chunk() - item.count);
  // An empty frame takes a part of a page if its whole budget is less.
  if (count > budget && budget == whole) count = budget;
  if (count == 0 || count > budget) return false;
  item.count += count;
  budget -= count;
  last_prefilled_ = live.request.id();
  return true;
}

}  // namespace aster::conduct
