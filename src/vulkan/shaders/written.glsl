// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The pages that write_rows.comp and write_rows_q8.comp write. A span is some tokens of one sequence,
// one after the other; a workgroup has some neighbouring positions of one span (x and z) and
// key/value head (y). After page.glsl.
layout(push_constant) uniform Push {
  Words page_table;  // addresses of pages of all heads
  Words spans;       // [spans][4]: first row, rows, first position, entry of its page in the table
  Floats keys;       // [rows][key_stride]
  Floats values;     // [rows][value_stride]
  uint key_stride;
  uint value_stride;
  uint head_page_bytes;  // from one head of a page to the next
  PageShape shape;
  Floats cosines;  // [rows][pairs] of RoPE that is applied to keys before writing (rope.comp)
  Floats sines;
  uint pairs;  // 0: no RoPE
  uint unrotated;  // elements before those that RoPE rotates
  uint adjacent;
} push;

struct Span {
  uint first_row;
  uint rows;
  uint position;
  uint table;
};
Span span_of_group() {
  const uint at = 4u * gl_WorkGroupID.z;
  return Span(push.spans.at[at], push.spans.at[at + 1u], push.spans.at[at + 2u],
              push.spans.at[at + 3u]);
}

// The first of this workgroup's positions, which come in groups of `together`.
uint first_position(uint together) {
  return (span_of_group().position / together + gl_WorkGroupID.x) * together;
}
bool is_written(uint position) {
  const Span span = span_of_group();
  return position >= span.position && position < span.position + span.rows;
}
// The row of a position; if it is not written, the span's nearest row.
uint row_of(uint position) {
  const Span span = span_of_group();
  const uint end = span.position + span.rows;
  return span.first_row + clamp(position, span.position, end - 1u) - span.position;
}
float key_at(uint position, uint d) {
  const uint row = row_of(position);
  const uint key = row * push.key_stride + gl_WorkGroupID.y * push.shape.key_dim;
  const uint n = d - push.unrotated;
  if (d < push.unrotated || n >= 2u * push.pairs) return push.keys.at[key + d];
  const uint i = push.adjacent != 0u ? n / 2u : n % push.pairs;
  const bool is_second = push.adjacent != 0u ? (n & 1u) != 0u : n >= push.pairs;
  const uint first = key + push.unrotated + (push.adjacent != 0u ? 2u * i : i);
  const float u = push.keys.at[first];
  const float v = push.keys.at[first + (push.adjacent != 0u ? 1u : push.pairs)];
  const float cosine = push.cosines.at[row * push.pairs + i];
  const float sine = push.sines.at[row * push.pairs + i];
  return is_second ? fused(u, sine, mul(v, cosine)) : fused(v, -sine, mul(u, cosine));
}
uint value_row(uint position) {
  return row_of(position) * push.value_stride + gl_WorkGroupID.y * push.shape.value_dim;
}

// The page of this workgroup's head that holds a position.
WordsOut page_of(uint position) {
  const Span span = span_of_group();
  const uint pages = position / kPagePositions - span.position / kPagePositions;
  const uint entry = 2u * (span.table + pages);
  uint carry;
  const uint low =
      uaddCarry(push.page_table.at[entry], gl_WorkGroupID.y * push.head_page_bytes, carry);
  return WordsOut(uvec2(low, push.page_table.at[entry + 1u] + carry));
}
