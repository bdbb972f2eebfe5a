// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reductions in the reference's sixteen virtual lanes: element i belongs to lane i mod 16, and a
// fixed tree joins the lanes. After exact.glsl. A workgroup reduces kTrees rows at once; invocation
// 16 * row + lane has lane `lane` of row `row`.
const uint kLanes = 16u;
shared float lanes[kTrees][kLanes];

// Joins the values of all invocations of a tree: the greatest, or the sum. All invocations of the
// workgroup must call it. The result is in lanes[row][0].
void join_lanes(uint row, uint lane, bool takes_part, float value, bool greatest) {
  barrier();
  if (takes_part) lanes[row][lane] = value;
  for (uint half_ = kLanes / 2u; half_ > 0u; half_ /= 2u) {
    barrier();
    float joined = 0.0;
    const bool joins = takes_part && lane < half_;
    if (joins) {
      const float a = lanes[row][lane], b = lanes[row][lane + half_];
      joined = greatest ? larger(a, b) : add(a, b);
    }
    barrier();
    if (joins) lanes[row][lane] = joined;
  }
  barrier();
}
