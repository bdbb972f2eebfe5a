// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How the time of a prompt's frame grows with its rows: the weights are read once, and short frames
// use the processor less well than long ones. Only numbers: must not know models nor nodes.
#pragma once

#include <span>
#include <vector>

namespace aster::plan {

class FrameShape {
 public:
  struct Point {
    double rows = 0;
    double seconds = 0;  // in any unit
    bool operator==(const Point&) const = default;
  };

  // Each row costs the same.
  FrameShape() = default;
  // A frame of one row takes `row_s`; longer ones as they were seen, by rising rows.
  FrameShape(double row_s, std::span<const Point> seen, double chunk_rows);

  // Of a chunk, in the unit of what was seen; 0: nothing was seen.
  double chunk_s() const { return chunk_s_; }
  // From 0 for one row to 1 for a chunk.
  double At(double rows, double chunk_rows) const;

 private:
  std::vector<Point> points_;  // from one row to a chunk: how much of the way there
  double chunk_s_ = 0;
};

}  // namespace aster::plan
