#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// GatherActivations (src/kernels/activations.cc): prepared rows of one batch, in any order and as
// often as wanted, as prepared rows of another. A workgroup copies 64 pieces' words, and words.
#include "memory.glsl"
#include "rows.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Words from;
  WordsOut to;
  Words indices;  // row i of `to` is row indices[i] of `from`
  uint from_rows;
  uint to_rows;
  uint pieces;  // of a row
  uint words;
} push;

void main() {
  const uint i = gl_GlobalInvocationID.x, row = gl_WorkGroupID.y;
  const RowPlace from =
      place_of(push.pieces, push.words, push.from_rows, push.indices.at[row]);
  const RowPlace to = place_of(push.pieces, push.words, push.to_rows, row);
  const uint piece_words = push.pieces * kPieceWords;
  if (i < piece_words) {
    const uint piece = i / kPieceWords, within = i % kPieceWords;
    push.to.at[to.pieces + piece * to.group_rows * kPieceWords + within] =
        push.from.at[from.pieces + piece * from.group_rows * kPieceWords + within];
  } else if (i < piece_words + push.words) {
    const uint word = i - piece_words;
    push.to.at[to.words + word * to.group_rows] = push.from.at[from.words + word * from.group_rows];
  }
}
