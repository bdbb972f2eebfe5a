// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reads prepared rows by unit, group and quad. After weights.glsl.

uint row_pieces() { return (push.columns + 63u) / 64u; }
#ifdef PER_32
RowPlace row_at(uint row) {
  return place_of(row_pieces(), row_pieces() * kPer32Words, push.activation_rows, row);
}
// Of quads that follow each other in memory.
uint quads_at(RowPlace row, uint unit, uint group) {
  return row.pieces + unit / 2u * row.group_rows * kPieceWords + (unit & 1u) * 8u;
}
uint unit_word(RowPlace row, uint unit, uint word) {
  return push.activations.at[row.words + (unit / 2u * kPer32Words + word + (unit & 1u)) *
                                             row.group_rows];
}
float activation_scale(RowPlace row, uint unit) { return FLOAT(unit_word(row, unit, kPer32Scale)); }
// The sum of a group's activations, times -8.
int group_sum(RowPlace row, uint unit, uint group) {
  return int(unit_word(row, unit, kPer32Start8));
}
#else
RowPlace row_at(uint row) {
  return place_of(row_pieces(), row_pieces() / 4u * kPer256Words, push.activation_rows, row);
}
uint quads_at(RowPlace row, uint unit, uint group) {
  const uint quad = group * kQuads;
  return row.pieces + (4u * unit + quad / 16u) * row.group_rows * kPieceWords + quad % 16u;
}
uint unit_word(RowPlace row, uint unit, uint word) {
  return push.activations.at[row.words + (unit * kPer256Words + word) * row.group_rows];
}
float activation_scale(RowPlace row, uint unit) { return FLOAT(unit_word(row, unit, 0u)); }
// The sum of a group's activations.
int group_sum(RowPlace row, uint unit, uint group) {
  const uint sums = kGroups == 8u ? kPer256Sums32 : kPer256Sums16;
  const uint pair = unit_word(row, unit, sums + group / 2u);
  return bitfieldExtract(int(pair), int(group & 1u) * 16, 16);
}
#endif
// The start of the unit's dot product: the part of the offset that is stored with weights.
int unit_start(RowPlace row, uint unit) {
#ifdef START_WORD
  return int(unit_word(row, unit, START_WORD));
#else
  return 0;
#endif
}
