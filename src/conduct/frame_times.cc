// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/frame_times.h"

#include <algorithm>
#include <cmath>

namespace aster::conduct {
namespace {

// The estimate for each row beyond the seen ones, as a part of the first row's time; less if seen
// rows took less. Machines limited by memory bandwidth take less. In a mixture of experts the
// second row may take far more than later ones, which choose fewer and fewer new experts. So the
// times of few rows must not rule out many rows, which would then never be measured.
constexpr double kFurtherRow = 0.3;
constexpr uint32_t kMostFrames = 16;
// After this many other gaps the newest ahead gap is outdated: the estimate is dropped.
constexpr uint32_t kForgetAhead = 512;

}  // namespace

void FrameTimes::Learn(uint32_t rows, std::span<const wire::Hop> hops, int64_t round_trip_ns) {
  if (rows == 0 || rows > kMostRows || hops.empty()) return;
  double slowest_ns = 0, before_last_ns = 0, all_ns = 0, queue_ns = 0;
  for (const wire::Hop& hop : hops) {
    const auto compute_ns = static_cast<double>(hop.compute_ns);
    before_last_ns = slowest_ns;
    slowest_ns = std::max(slowest_ns, compute_ns);
    all_ns += compute_ns;
    queue_ns += static_cast<double>(hop.queue_ns);
  }
  // Times from other machines are not trusted.
  if (round_trip_ns <= 0) return;
  frames_[rows].slowest_ns.Add(std::max(slowest_ns, 1.0));
  frames_[rows].before_last_ns.Add(before_last_ns);
  frames_[rows].all_ns.Add(std::max(all_ns, 1.0));
  on_the_way_ns_.Add(std::max(0.0, static_cast<double>(round_trip_ns) - all_ns - queue_ns));
}

Typical FrameTimes::NoGap() {
  Typical gap;
  gap.Add(0);
  gap.Add(0);
  return gap;
}

void FrameTimes::LearnGap(double gap_ns, bool was_ahead) {
  (was_ahead ? ahead_gap_ns_ : gap_ns_).Add(std::max(gap_ns, 0.0));
  since_ahead_ = was_ahead ? 0 : since_ahead_ + 1;
  if (since_ahead_ == kForgetAhead) ahead_gap_ns_ = NoGap();
}

bool FrameTimes::is_known() const { return on_the_way_ns_.is_known(); }

double FrameTimes::Between(uint32_t rows, Typical Frame::* time) const {
  const auto is_known = [&](uint32_t count) { return (frames_[count].*time).is_known(); };
  const auto value = [&](uint32_t count) { return (frames_[count].*time).value(); };
  uint32_t below = rows;
  while (below > 0 && !is_known(below)) --below;
  if (below == rows) return value(rows);
  uint32_t above = rows;
  while (above <= kMostRows && !is_known(above)) ++above;
  // Fewer rows than were ever seen take no longer. More rows continue the slope of the seen ones,
  // or take kFurtherRow each.
  if (below == 0) return value(above);
  if (above <= kMostRows) {
    const double slope = (value(above) - value(below)) / (above - below);
    return value(below) + slope * (rows - below);
  }
  uint32_t least = 1;
  while (!is_known(least)) ++least;
  double slope = kFurtherRow * value(least) / least;
  if (least < below) slope = std::min(slope, (value(below) - value(least)) / (below - least));
  return value(below) + std::max(slope, 0.0) * (rows - below);
}

double FrameTimes::UnseenNs(uint32_t rows) const {
  const auto is_known = [&](uint32_t count) { return frames_[count].all_ns.is_known(); };
  const auto value = [&](uint32_t count) { return frames_[count].all_ns.value(); };
  uint32_t most = kMostRows;
  while (most > 0 && !is_known(most)) --most;
  if (rows <= most || most == 0) return 0;
  uint32_t least = 1;
  while (!is_known(least)) ++least;
  const double row_ns =
      least < most ? (value(most) - value(least)) / (most - least) : value(least) / least;
  const double longest_ns = value(most) + row_ns * (rows - most);
  return std::max(longest_ns - Between(rows, &Frame::all_ns), 0.0);
}

FrameTimes::Times FrameTimes::Of(uint32_t rows) const {
  rows = std::clamp<uint32_t>(rows, 1, kMostRows);
  return {.slowest_ns = Between(rows, &Frame::slowest_ns),
          .round_trip_ns = Between(rows, &Frame::all_ns) + on_the_way_ns_.value(),
          .before_last_ns = Between(rows, &Frame::before_last_ns),
          .gap_ns = gap_ns_.value(),
          .ahead_gap_ns = std::max(gap_ns_.value(), ahead_gap_ns_.value()),
          .unseen_ns = UnseenNs(rows)};
}

uint32_t FrameTimes::FramesInFlight() const {
  if (!is_known()) return 1;
  const Times one = Of(1);
  // Rounded up, unless the last frame would mostly wait.
  const double frames = std::ceil(one.round_trip_ns / one.slowest_ns - 0.1);
  return static_cast<uint32_t>(std::clamp<double>(frames, 1, kMostFrames));
}

}  // namespace aster::conduct
