// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The steps of pre-tokenizers. Models publish them as patterns; these are scanners that cut at the
// same places in linear time. Their test compares them with the patterns. Must not know which
// pre-tokenizer uses which step.
#pragma once

#include "text/pretokenizer.h"

namespace aster::text::steps {

// Words, numbers, punctuation and white space (split_words.cc). They differ in what belongs to a
// word, how many digits are one piece and what punctuation includes.
void Gpt2Words(const Piece& piece, PieceSink sink);
void Llama3Words(const Piece& piece, PieceSink sink);     // cl100k: three digits
void Qwen2Words(const Piece& piece, PieceSink sink);      // the same with single digits
void Qwen35Words(const Piece& piece, PieceSink sink);     // and marks belong to words
void Jais2Words(const Piece& piece, PieceSink sink);      // Llama3Words, spaces by powers of two
void SeedWords(const Piece& piece, PieceSink sink);       // Qwen2Words, with bare punctuation
void ExaoneMoeWords(const Piece& piece, PieceSink sink);  // words joined by single spaces
void Gpt4oWords(const Piece& piece, PieceSink sink);      // o200k: words end by their case
void TekkenWords(const Piece& piece, PieceSink sink);     // no contractions, single digits
void YoutuWords(const Piece& piece, PieceSink sink);      // contractions, single digits
void KimiWords(const Piece& piece, PieceSink sink);       // Chinese characters apart
void DeepseekV3Words(const Piece& piece, PieceSink sink);

// Matches of one kind are pieces, and so is the text between them (split_runs.cc).
void EachNewline(const Piece& piece, PieceSink sink);        // [\r\n]
void EachNumber(const Piece& piece, PieceSink sink);         // \p{N}
void NumbersByThree(const Piece& piece, PieceSink sink);     // \p{N}{1,3}
void NumberRuns(const Piece& piece, PieceSink sink);         // \p{N}+
void ThreeAsciiDigits(const Piece& piece, PieceSink sink);   // [0-9][0-9][0-9]
void SpacedLetters(const Piece& piece, PieceSink sink);      // \s?\p{L}+
void SpacedPunctuation(const Piece& piece, PieceSink sink);  // \s?\p{P}+
void TrailingSpace(const Piece& piece, PieceSink sink);      // \s+$
void NewlineRuns(const Piece& piece, PieceSink sink);        // [^\n]+|[\n]+
void FalconPunctuation(const Piece& piece, PieceSink sink);  // [\p{P}$+<=>^~|`]+
void PlainPunctuation(const Piece& piece, PieceSink sink);   // [\p{P}$+<=>^~|]+
void BloomWords(const Piece& piece, PieceSink sink);         // ` ?` and non-separators

// Groups of three, counted from the right.
void NumbersByThreeFromRight(const Piece& piece, PieceSink sink);     // of \p{N}+
void WordDigitsByThreeFromRight(const Piece& piece, PieceSink sink);  // \d{1,3}(?=(?:\d{3})*\b)
void DigitBoundaries(const Piece& piece, PieceSink sink);             // (?=(\d{3})+(?!\d))

// Characters of some scripts, as lists of ranges (split_scripts.cc).
void DeepseekLetters(const Piece& piece, PieceSink sink);      // \s?[A-Za-zµÀ-Ö…]+
void DeepseekPunctuation(const Piece& piece, PieceSink sink);  // \s?[!-/:-~！-／：-～‘-‟　-。]+
void DeepseekIdeographs(const Piece& piece, PieceSink sink);   // [一-龥ࠀ-一가-퟿]+
void CjkRuns(const Piece& piece, PieceSink sink);              // [一-龥぀-ゟ゠-ヿ]+
void AsianRuns(const Piece& piece, PieceSink sink);            // afmoe: CJK and South-East Asian
void YoutuScripts(const Piece& piece, PieceSink sink);         // Hangul, punctuation, bopomofo, CJK

// What Chameleon isolates before words (split_chameleon.cc).
void ChameleonSentinels(const Piece& piece, PieceSink sink);    // <sentinel:[0-9]+>
void ChameleonImages(const Piece& piece, PieceSink sink);       // IMGIMG[A-I]{1,4}Z
void ChameleonSpaces(const Piece& piece, PieceSink sink);       // [\t\n]|    |  (4 or 2 spaces)
void ChameleonPunctuation(const Piece& piece, PieceSink sink);  // [\p{P}!-/:-@\[-`{-~]

}  // namespace aster::text::steps
