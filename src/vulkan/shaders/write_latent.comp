#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Writes packed rows into their pages, where they may begin at any byte. An invocation owns a word of
// a page (y: of the run's pages; z: the run), and keeps the bytes that are not of these rows.
#include "memory.glsl"
#include "runs.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Words packed;  // [rows][row_words]
  Words page_table;
  Words runs;
  uint row_bytes;
  uint row_words;
  uint rows_of_page;
  uint row_step;  // from a row of a run to the next, in packed rows
} push;

void main() {
  const Run run = run_at(push.runs, gl_WorkGroupID.z);
  const uint first_page = run.position / push.rows_of_page, page = first_page + gl_WorkGroupID.y;
  // The rows of this page, by their places in it.
  const uint begin = max(run.position, page * push.rows_of_page) - page * push.rows_of_page;
  const uint last = min(run.position + run.rows, (page + 1u) * push.rows_of_page);
  if (last <= page * push.rows_of_page) return;
  const uint end = last - page * push.rows_of_page;
  const uint word = begin * push.row_bytes / 4u + gl_GlobalInvocationID.x;
  if (4u * word >= end * push.row_bytes) return;
  WordsOut out_ = WordsOut(address_at(push.page_table, run.table + gl_WorkGroupID.y));
  uint bytes = 0u, mask = 0u;
  for (uint i = 0u; i < 4u; ++i) {
    const uint byte_ = 4u * word + i, row = byte_ / push.row_bytes;
    if (row < begin || row >= end) continue;
    const uint of_run = page * push.rows_of_page + row - run.position;
    const uint from = run.first_row + of_run * push.row_step;
    const uint within = byte_ % push.row_bytes;
    const uint value = push.packed.at[from * push.row_words + within / 4u] >> (within & 3u) * 8u;
    bytes |= (value & 0xffu) << 8u * i;
    mask |= 0xffu << 8u * i;
  }
  if (mask == 0u) return;
  out_.at[word] = mask == 0xffffffffu ? bytes : out_.at[word] & ~mask | bytes;
}
