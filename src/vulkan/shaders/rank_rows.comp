#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Ranks of an index's rows for the tokens that have more of them than they may see (LatentTable::
// multiply and rank of src/kernels/ref/latent.cc). A workgroup has kRows rows of one token (y);
// invocation 16 * row + lane has the heads of one lane.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "latent.glsl"
#include "runs.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 3) const uint kDim = 16u;
layout(constant_id = 4) const uint kRows = 1u;  // up to 16
layout(push_constant) uniform Push {
  Floats queries;  // [rows], query_stride floats apart, of [heads][kDim]
  Floats weights;  // [rows], weight_stride apart, of [heads]
  Words page_table;
  Words tasks;       // [tasks][4]: row of the batch, rows to rank, first score, entry of their first page
  FloatsOut scores;  // of all tasks
  uint query_stride;
  uint weight_stride;
  uint heads;
  uint row_bytes;
  uint rows_of_page;
  uint still;
} push;

const uint kTrees = kRows;
#include "lanes.glsl"

shared float elements[kRows][kDim];

void main() {
  const uint t = gl_LocalInvocationID.x, task = 4u * gl_WorkGroupID.y;
  const uint batch_row = push.tasks.at[task], row_count = push.tasks.at[task + 1u];
  const uint first_score = push.tasks.at[task + 2u], table = push.tasks.at[task + 3u];
  const uint first = gl_WorkGroupID.x * kRows;
  if (first >= row_count) return;
  // The last row again beyond the end.
  for (uint n = t; n < kRows * kDim; n += gl_WorkGroupSize.x) {
    const uint row = min(first + n / kDim, row_count - 1u);
    Words page = Words(address_at(push.page_table, table + row / push.rows_of_page));
    elements[n / kDim][n % kDim] = element_at(page, row % push.rows_of_page * push.row_bytes,
                                              LatentShape(kDim, push.still), n % kDim);
  }
  barrier();
  const uint row = t / kLanes, lane = t % kLanes;
  const bool mine = row < kRows;
  float sum = 0.0;
  for (uint head = lane; mine && head < push.heads; head += kLanes) {
    const uint query = batch_row * push.query_stride + head * kDim;
    float product = 0.0;
    for (uint d = 0u; d < kDim; ++d)
      product = fused(elements[row][d], push.queries.at[query + d], product);
    sum = fused(larger(product, 0.0), push.weights.at[batch_row * push.weight_stride + head], sum);
  }
  join_lanes(row, lane, mine, sum, false);
  if (mine && lane == 0u && first + row < row_count)
    push.scores.at[first_score + first + row] = lanes[row][0];
}
