// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Common to the simple steps: a match function takes a position and returns the end of the match,
// or the position itself if there is none; Isolate makes a piece of every match, and of every
// stretch between matches.
#pragma once

#include "text/pretokenizer.h"

namespace aster::text::steps {

template <size_t (*Match)(const Piece&, size_t)>
void Isolate(const Piece& piece, PieceSink sink) {
  size_t unmatched = piece.begin();
  size_t position = piece.begin();
  while (position < piece.end()) {
    const size_t end = Match(piece, position);
    if (end == position) {
      position += piece.At(position).size_bytes;
      continue;
    }
    if (unmatched < position) sink(position);
    sink(end);
    position = unmatched = end;
  }
  if (unmatched < position) sink(position);
}

inline bool IsAsciiDigit(const Character& c) { return c.code >= '0' && c.code <= '9'; }

template <bool (*In)(const Character&)>
size_t MatchOne(const Piece& piece, size_t position) {
  const Character character = piece.At(position);
  return In(character) ? position + character.size_bytes : position;
}

template <bool (*In)(const Character&)>
size_t MatchRun(const Piece& piece, size_t position) {
  for (Character c = piece.At(position); In(c); c = piece.At(position)) position += c.size_bytes;
  return position;
}

// \s?[in]+
template <bool (*In)(const Character&)>
size_t MatchSpacedRun(const Piece& piece, size_t position) {
  const Character first = piece.At(position);
  if (In(first) || !first.Is(kSpace)) return MatchRun<In>(piece, position);
  const size_t start = position + first.size_bytes;
  const size_t end = MatchRun<In>(piece, start);
  return end == start ? position : end;
}

}  // namespace aster::text::steps
