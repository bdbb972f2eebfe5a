#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The best score of the rows of every block (CpuRowRanking::ChooseBlocks of
// src/compute/cpu/row_ranking.cc): an invocation a block of a task (y). Such a task ranks blocks:
// its `table` is the first score of the rows of block 0.
#include "memory.glsl"
#include "exact.glsl"
#include "ranks.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Floats scores;  // of rows
  Words tasks;
  FloatsOut best;  // of blocks
  uint block_rows;
} push;

void main() {
  const Task task = task_at(push.tasks, gl_WorkGroupID.y);
  const uint block = gl_GlobalInvocationID.x;
  if (block >= task.rows) return;
  float best = MINUS_INFINITY;
  for (uint i = 0u; i < push.block_rows; ++i) {
    const float score = push.scores.at[task.table + block * push.block_rows + i];
    if (best < score) best = score;
  }
  push.best.at[task.first_score + block] = best;
}
