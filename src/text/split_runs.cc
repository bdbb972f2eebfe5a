// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <algorithm>

#include "text/isolate.h"
#include "text/split_steps.h"

namespace aster::text::steps {
namespace {

bool IsNewline(const Character& c) { return c.Is(kNewline); }
bool IsLineFeed(const Character& c) { return c.code == '\n' && c.exists(); }
bool IsNotLineFeed(const Character& c) { return c.code != '\n' && c.exists(); }
bool IsLetter(const Character& c) { return c.Is(kLetter); }
bool IsNumber(const Character& c) { return c.Is(kNumber); }
bool IsPunctuation(const Character& c) { return c.Is(kPunctuation); }
bool IsDigit(const Character& c) { return c.Is(kDigit); }
bool IsAnything(const Character&) { return true; }
bool IsNoWordCharacter(const Character& c) { return !c.Is(kWord); }

// \p{P} and the ASCII symbols except the grave accent; and including it.
bool IsPlainPunctuation(const Character& c) {
  return c.Is(kPunctuation) || (c.code < 0x80 && c.code != '`' && c.Is(kSymbol));
}
bool IsFalconPunctuation(const Character& c) {
  return c.Is(kPunctuation) || (c.code < 0x80 && c.Is(kSymbol));
}

// Characters that Bloom's pattern excludes from words.
bool IsBloomSeparator(const Character& c) {
  constexpr std::u32string_view kSeparators = U"(|.,!?…。，、।۔،)";
  return c.Is(kSpace) || kSeparators.find(c.code) != std::u32string_view::npos;
}

size_t MatchUpToThreeNumbers(const Piece& piece, size_t position) {
  for (int i = 0; i < 3; ++i) {
    const Character character = piece.At(position);
    if (!character.Is(kNumber)) break;
    position += character.size_bytes;
  }
  return position;
}

size_t MatchThreeAsciiDigits(const Piece& piece, size_t position) {
  const bool matches = IsAsciiDigit(piece.At(position)) && IsAsciiDigit(piece.At(position + 1)) &&
                       IsAsciiDigit(piece.At(position + 2));
  return matches ? position + 3 : position;
}

size_t MatchBloomWord(const Piece& piece, size_t position) {
  const size_t start = position + (piece.At(position).code == ' ');
  size_t end = start;
  for (Character c = piece.At(end); c.exists() && !IsBloomSeparator(c); c = piece.At(end)) {
    end += c.size_bytes;
  }
  return end == start ? position : end;
}

// Cuts [begin, end), which has `count` characters, so that all pieces except the first have three.
void CutByThreeFromRight(const Piece& piece, size_t begin, size_t count, PieceSink sink) {
  size_t position = begin;
  while (count > 0) {
    const size_t step = count % 3 == 0 ? 3 : count % 3;
    for (size_t i = 0; i < step; ++i) position += piece.At(position).size_bytes;
    count -= step;
    sink(position);
  }
}

struct Run {
  size_t end;
  size_t count;  // characters
};

template <bool (*In)(const Character&)>
Run RunAt(const Piece& piece, size_t position) {
  Run run = {position, 0};
  for (Character c = piece.At(position); In(c); c = piece.At(run.end)) {
    run.end += c.size_bytes;
    ++run.count;
  }
  return run;
}

// Cuts every run that `accepts` the character after it into pieces of three characters, counted
// from the right; the text between such runs is a piece, too.
template <bool (*In)(const Character&), bool (*Accepts)(const Character&)>
void IsolateByThreeFromRight(const Piece& piece, PieceSink sink) {
  size_t unmatched = piece.begin();
  for (size_t position = piece.begin(); position < piece.end();) {
    const Run run = RunAt<In>(piece, position);
    if (run.count == 0) {
      position += piece.At(position).size_bytes;
      continue;
    }
    if (Accepts(piece.At(run.end))) {
      if (unmatched < position) sink(position);
      CutByThreeFromRight(piece, position, run.count, sink);
      unmatched = run.end;
    }
    position = run.end;
  }
  if (unmatched < piece.end()) sink(piece.end());
}

}  // namespace

void EachNewline(const Piece& piece, PieceSink sink) { Isolate<MatchOne<IsNewline>>(piece, sink); }
void EachNumber(const Piece& piece, PieceSink sink) { Isolate<MatchOne<IsNumber>>(piece, sink); }
void NumberRuns(const Piece& piece, PieceSink sink) { Isolate<MatchRun<IsNumber>>(piece, sink); }
void NumbersByThree(const Piece& piece, PieceSink sink) {
  Isolate<MatchUpToThreeNumbers>(piece, sink);
}
void ThreeAsciiDigits(const Piece& piece, PieceSink sink) {
  Isolate<MatchThreeAsciiDigits>(piece, sink);
}
void SpacedLetters(const Piece& piece, PieceSink sink) {
  Isolate<MatchSpacedRun<IsLetter>>(piece, sink);
}
void SpacedPunctuation(const Piece& piece, PieceSink sink) {
  Isolate<MatchSpacedRun<IsPunctuation>>(piece, sink);
}
void FalconPunctuation(const Piece& piece, PieceSink sink) {
  Isolate<MatchRun<IsFalconPunctuation>>(piece, sink);
}
void PlainPunctuation(const Piece& piece, PieceSink sink) {
  Isolate<MatchRun<IsPlainPunctuation>>(piece, sink);
}
void BloomWords(const Piece& piece, PieceSink sink) { Isolate<MatchBloomWord>(piece, sink); }

void NewlineRuns(const Piece& piece, PieceSink sink) {
  for (size_t position = piece.begin(); position < piece.end();) {
    position =
        std::max(MatchRun<IsLineFeed>(piece, position), MatchRun<IsNotLineFeed>(piece, position));
    sink(position);
  }
}

void TrailingSpace(const Piece& piece, PieceSink sink) {
  // Forwards, as this needs no decoding backwards: the pattern itself would take quadratic time for
  // a long run of spaces.
  size_t space_begin = piece.begin();
  for (size_t position = piece.begin(); position < piece.end();) {
    const Character character = piece.At(position);
    position += character.size_bytes;
    if (!character.Is(kSpace)) space_begin = position;
  }
  if (space_begin > piece.begin()) sink(space_begin);
  if (space_begin < piece.end()) sink(piece.end());
}

void NumbersByThreeFromRight(const Piece& piece, PieceSink sink) {
  IsolateByThreeFromRight<IsNumber, IsAnything>(piece, sink);
}

void WordDigitsByThreeFromRight(const Piece& piece, PieceSink sink) {
  IsolateByThreeFromRight<IsDigit, IsNoWordCharacter>(piece, sink);
}

void DigitBoundaries(const Piece& piece, PieceSink sink) {
  for (size_t position = piece.begin(); position < piece.end();) {
    Run run = RunAt<IsDigit>(piece, position);
    if (run.count == 0) position += piece.At(position).size_bytes;
    for (; run.count > 0; --run.count) {
      if (run.count % 3 == 0 && position > piece.begin()) sink(position);
      position += piece.At(position).size_bytes;
    }
  }
  sink(piece.end());
}

}  // namespace aster::text::steps
