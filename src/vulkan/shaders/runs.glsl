// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Consecutive rows of one sequence in pages of a stream, for the shaders that write them. After
// memory.glsl. The push constants have `runs` and `page_table`.
struct Run {
  uint first_row;  // of the source
  uint rows;
  uint position;  // of the first of them in its stream, in rows
  uint table;     // entry of its page in the table of addresses
};
const uint kRunWords = 4u;

Run run_at(Words runs, uint index) {
  const uint at = kRunWords * index;
  return Run(runs.at[at], runs.at[at + 1u], runs.at[at + 2u], runs.at[at + 3u]);
}

uvec2 address_at(Words table, uint entry) {
  return uvec2(table.at[2u * entry], table.at[2u * entry + 1u]);
}
