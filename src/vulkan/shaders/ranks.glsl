// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The rows of an index from which a token chooses: all, or those of some blocks. After memory.glsl.
// The push constants have `tasks`, and `blocks`, `block_stride` and `block_rows`.
struct Task {
  uint row;  // of the batch
  uint rows;
  uint first_score;
  uint table;     // entry of the page of row 0
  uint all_rows;  // all rows of the token, if blocks were chosen; else 0
};
const uint kTaskWords = 5u;

Task task_at(Words tasks, uint index) {
  const uint at = kTaskWords * index;
  return Task(tasks.at[at], tasks.at[at + 1u], tasks.at[at + 2u], tasks.at[at + 3u],
              tasks.at[at + 4u]);
}

// The number of the task's row `i`. Always a valid row, as blocks may come from other machines and
// are not trusted.
uint row_of_task(Task task, uint i, Floats blocks, uint block_stride, uint block_rows) {
  if (task.all_rows == 0u) return i;
  const uint last = (task.all_rows - 1u) / block_rows;
  const float block = blocks.at[task.row * block_stride + i / block_rows];
  const bool is_there = block >= 0.0 && block <= float(last);
  return min((is_there ? uint(block) : last) * block_rows + i % block_rows, task.all_rows - 1u);
}
