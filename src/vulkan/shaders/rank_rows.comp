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
#include "ranks.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 3) const uint kDim = 16u;
layout(constant_id = 4) const uint kRows = 1u;  // up to 16
layout(push_constant) uniform Push {
  Floats queries;  // [rows], query_stride floats apart, of [heads][kDim]
  Floats weights;  // [rows], weight_stride apart, of [heads]
  Words page_table;
  Words tasks;
  FloatsOut scores;  // of all tasks
  Floats blocks;     // [rows], block_stride floats apart: numbers of blocks
  uint query_stride;
  uint weight_stride;
  uint heads;
  uint row_bytes;
  uint rows_of_page;
  uint unrotated;
  uint block_stride;
  uint block_rows;
} push;

const uint kTrees = kRows;
#include "lanes.glsl"

shared float elements[kRows][kDim];

void main() {
  const uint t = gl_LocalInvocationID.x;
  const Task task = task_at(push.tasks, gl_WorkGroupID.y);
  const uint first = gl_WorkGroupID.x * kRows;
  if (first >= task.rows) return;
  // The last row again beyond the end.
  for (uint n = t; n < kRows * kDim; n += gl_WorkGroupSize.x) {
    const uint row = row_of_task(task, min(first + n / kDim, task.rows - 1u), push.blocks,
                                 push.block_stride, push.block_rows);
    Words page = Words(address_at(push.page_table, task.table + row / push.rows_of_page));
    elements[n / kDim][n % kDim] = element_at(page, row % push.rows_of_page * push.row_bytes,
                                              LatentShape(kDim, push.unrotated), n % kDim);
  }
  barrier();
  const uint row = t / kLanes, lane = t % kLanes;
  const bool mine = row < kRows;
  float sum = 0.0;
  for (uint head = lane; mine && head < push.heads; head += kLanes) {
    const uint query = task.row * push.query_stride + head * kDim;
    float product = 0.0;
    for (uint d = 0u; d < kDim; ++d)
      product = fused(elements[row][d], push.queries.at[query + d], product);
    sum = fused(larger(product, 0.0), push.weights.at[task.row * push.weight_stride + head], sum);
  }
  join_lanes(row, lane, mine, sum, false);
  if (mine && lane == 0u && first + row < task.rows)
    push.scores.at[task.first_score + first + row] = lanes[row][0];
}
