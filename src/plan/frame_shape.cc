// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/frame_shape.h"

#include <algorithm>

namespace aster::plan {
namespace {

using Point = FrameShape::Point;

double Between(const Point& from, const Point& to, double rows) {
  return from.seconds + (to.seconds - from.seconds) * (rows - from.rows) / (to.rows - from.rows);
}

// The time of each row after the last point, estimated from the points before it. Rows of longer
// frames do not cost more than the mean; as a single time may be wrong, at least half of it.
double FurtherRow(std::span<const Point> points) {
  constexpr double kApart = 1.5;
  const Point& first = points.front();
  const Point& last = points.back();
  const double mean_s = (last.seconds - first.seconds) / (last.rows - first.rows);
  const auto before = std::ranges::find_if(points.rbegin(), points.rend(), [&](const Point& point) {
    return point.rows * kApart <= last.rows;
  });
  if (before == points.rend()) return mean_s;
  const double row_s = (last.seconds - before->seconds) / (last.rows - before->rows);
  return std::clamp(row_s, mean_s / 2, mean_s);
}

}  // namespace

FrameShape::FrameShape(double row_s, std::span<const Point> seen, double chunk_rows) {
  points_.push_back({.rows = 1, .seconds = row_s});
  for (const Point& point : seen) {
    if (point.rows <= points_.back().rows) continue;
    // More rows never take less time: the machine was slower or faster at that moment.
    points_.push_back({point.rows, std::max(point.seconds, points_.back().seconds)});
  }
  if (points_.size() < 2 || chunk_rows <= 1) {
    points_.clear();
    return;
  }
  const auto beyond = std::ranges::upper_bound(points_, chunk_rows, {}, &Point::rows);
  const Point& last = points_.back();
  chunk_s_ = beyond == points_.end() ? last.seconds + FurtherRow(points_) * (chunk_rows - last.rows)
                                     : Between(*(beyond - 1), *beyond, chunk_rows);
  points_.erase(beyond, points_.end());
  if (points_.back().rows < chunk_rows) points_.push_back({chunk_rows, chunk_s_});
  const double way_s = chunk_s_ - row_s;
  if (way_s <= 0) {
    points_.clear();
    return;
  }
  for (Point& point : points_) point.seconds = (point.seconds - row_s) / way_s;
}

double FrameShape::At(double rows, double chunk_rows) const {
  const auto beyond = std::ranges::upper_bound(points_, rows, {}, &Point::rows);
  if (beyond == points_.begin() || beyond == points_.end())
    return (rows - 1) / std::max(chunk_rows - 1, 1.0);
  return Between(*(beyond - 1), *beyond, rows);
}

}  // namespace aster::plan
