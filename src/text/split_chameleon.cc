// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/isolate.h"
#include "text/split_steps.h"

namespace aster::text::steps {
namespace {

// The end of `word` if the piece has it at the position; otherwise the position.
size_t MatchText(const Piece& piece, size_t position, std::string_view word) {
  const std::string_view rest = piece.text().substr(position - piece.begin());
  return rest.starts_with(word) ? position + word.size() : position;
}

size_t MatchSentinel(const Piece& piece, size_t position) {
  const size_t number = MatchText(piece, position, "<sentinel:");
  if (number == position) return position;
  const size_t end = MatchRun<IsAsciiDigit>(piece, number);
  return end > number && piece.At(end).code == '>' ? end + 1 : position;
}

size_t MatchImage(const Piece& piece, size_t position) {
  const size_t letters = MatchText(piece, position, "IMGIMG");
  if (letters == position) return position;
  size_t end = letters;
  while (end < letters + 4 && piece.At(end).code >= 'A' && piece.At(end).code <= 'I') ++end;
  return end > letters && piece.At(end).code == 'Z' ? end + 1 : position;
}

size_t MatchSpace(const Piece& piece, size_t position) {
  const char32_t code = piece.At(position).code;
  if (code == '\t' || code == '\n') return position + 1;
  const size_t end = MatchText(piece, position, "    ");
  return end > position ? end : MatchText(piece, position, "  ");
}

bool IsAsciiPunctuation(const Character& c) {
  return c.Is(kPunctuation) || (c.code < 0x80 && c.Is(kSymbol));
}

}  // namespace

void ChameleonSentinels(const Piece& piece, PieceSink sink) { Isolate<MatchSentinel>(piece, sink); }
void ChameleonImages(const Piece& piece, PieceSink sink) { Isolate<MatchImage>(piece, sink); }
void ChameleonSpaces(const Piece& piece, PieceSink sink) { Isolate<MatchSpace>(piece, sink); }
void ChameleonPunctuation(const Piece& piece, PieceSink sink) {
  Isolate<MatchOne<IsAsciiPunctuation>>(piece, sink);
}

}  // namespace aster::text::steps
