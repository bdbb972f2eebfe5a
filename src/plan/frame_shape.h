// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How the time of a prompt's frame grows with its rows: the weights are read once, and short frames
// use the processor less well than long ones. Only numbers: must not know models or nodes.
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
  // A frame of one row takes `row_s`; `seen`: times of longer ones, in the order of their rows.
  FrameShape(double row_s, std::span<const Point> seen, double chunk_rows);

  // The time of a chunk, in the unit of the seen times; 0: there are none.
  double chunk_s() const { return chunk_s_; }
  // The part of a chunk's time, from 0 for one row to 1 for a chunk.
  double At(double rows, double chunk_rows) const;

 private:
  std::vector<Point> points_;  // from one row (0) to a chunk (1)
  double chunk_s_ = 0;
};

}  // namespace aster::plan
