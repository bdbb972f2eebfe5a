// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Common parts of attention to pages and the merging of its results.

// Some rows (queries) and the pages that they attend to. Row r belongs to token r / heads and to
// query head r % heads of those that share a key/value head.
struct Block {
  uint first_row;
  uint rows;        // up to what a workgroup takes
  uint first_page;  // its number: it holds positions from first_page * 128
  uint pages;
  uint table;   // where the first page stands in the page table
  uint result;  // where the first page's result stands, in results
};
const uint kBlockWords = 6u;

Block block_at(Words blocks, uint index) {
  const uint at = index * kBlockWords;
  return Block(blocks.at[at], blocks.at[at + 1u], blocks.at[at + 2u], blocks.at[at + 3u],
               blocks.at[at + 4u], blocks.at[at + 5u]);
}

// The result of one page for one row: its maximum, its sum, then the values. Results of a block
// stand [page][key/value head][row].
uint result_at(Block block, uint page, uint kv_heads, uint kv_head, uint row) {
  return block.result + (page * kv_heads + kv_head) * block.rows + row;
}

// Both sides of a merge are scaled to the greater maximum.
struct Merge {
  float most;
  float old_factor;
  float new_factor;
};
Merge merge_of(float old_most, float new_most) {
  const float joint = larger(new_most, old_most);
  const float base = joint == MINUS_INFINITY ? 0.0 : joint;
  return Merge(joint, exp2_of(sub(old_most, base)), exp2_of(sub(new_most, base)));
}
// Of sums and factors that are no denormals.
float merged_sum(float old_sum, float new_sum, Merge merge) {
  precise float scaled = old_sum * merge.old_factor;
  return fused_normal(new_sum, merge.new_factor, flushed(scaled));
}
// Likewise of values; without negative zeros.
float merged_value(float old_value, float new_value, Merge merge) {
  precise float positive = merged_sum(old_value, new_value, merge) + 0.0;
  return positive;
}

// The factor and the divisor of values. A sink is one more weight of the head, which counts only in
// the sum.
struct Finish {
  float factor;
  float sum;
};
Finish finish_of(float most, float sum, bool has_sink, float sink_logit) {
  if (!has_sink) return Finish(1.0, sum);
  const float sink = mul(sink_logit, LOG2_E);
  const float joint = larger(sink, most);
  const float base = joint == MINUS_INFINITY ? 0.0 : joint;
  const float factor = exp2_of(sub(most, base));
  return Finish(factor, fused(sum, factor, exp2_of(sub(sink, base))));
}
float finished(float value, Finish finish) {
  return finish.sum == 0.0 ? 0.0 : divide(mul(value, finish.factor), finish.sum);
}
