// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Where prepared rows of activations stand (src/kernels/activation_layout.h), in words from the
// first row.

const uint kGroupRows = 16u;
const uint kPieceWords = 16u;

// The next piece or word of the row is group_rows pieces or words further.
struct RowPlace {
  uint pieces;
  uint words;
  uint group_rows;
};

// `pieces` and `words` are what one row has.
RowPlace place_of(uint pieces, uint words, uint rows, uint row) {
  const uint first = row / kGroupRows * kGroupRows;
  const uint group_rows = min(rows - first, kGroupRows);
  const uint group = first * (pieces * kPieceWords + words);
  const uint within = row - first;
  return RowPlace(group + within * kPieceWords,
                  group + group_rows * pieces * kPieceWords + within, group_rows);
}

// int8 with a scale per 32 values: two groups a piece.
const uint kPer32Words = 6u;
const uint kPer32Scale = 0u;
const uint kPer32Start8 = 2u;
const uint kPer32Start128 = 4u;

// int8 with a scale per 256 values: a block is four pieces.
const uint kPer256Words = 13u;
const uint kPer256Sums32 = 1u;
const uint kPer256Sums16 = 5u;
