#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Writes the inputs of compressed rows into pages: every token's values, then its scores plus the
// term of its place among the tokens of a row. A workgroup has some columns of a row (y) of a run (z).
#include "memory.glsl"
#include "exact.glsl"
#include "runs.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Floats values;  // [rows], value_stride floats apart
  Floats scores;
  Floats places;  // [ratio][columns], if ratio is not 0
  Words page_table;
  Words runs;
  uint value_stride;
  uint score_stride;
  uint columns;
  uint ratio;  // 0: without places
} push;

const uint kPagePositions = 128u;

void main() {
  const Run run = run_at(push.runs, gl_WorkGroupID.z);
  const uint column = gl_GlobalInvocationID.x, i = gl_WorkGroupID.y;
  if (i >= run.rows || column >= push.columns) return;
  const uint position = run.position + i, row = run.first_row + i;
  const uint page = position / kPagePositions - run.position / kPagePositions;
  FloatsOut out_ = FloatsOut(address_at(push.page_table, run.table + page));
  const uint at = position % kPagePositions * 2u * push.columns + column;
  out_.at[at] = push.values.at[row * push.value_stride + column];
  float score = push.scores.at[row * push.score_stride + column];
  if (push.ratio != 0u)
    score = add(score, push.places.at[position % push.ratio * push.columns + column]);
  out_.at[at + push.columns] = score;
}
