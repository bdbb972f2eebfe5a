// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Each function named Match… takes a position and returns the end of its alternative of the
// pattern, or the position itself if the alternative does not match.

#include "text/split_steps.h"

namespace aster::text::steps {
namespace {

constexpr unsigned kLetterOrNumber = kLetter | kNumber;

// The differences between patterns derived from cl100k.
struct WordRules {
  enum class Contraction {
    kNone,
    kFirst,   // 's and the like are pieces, in either case
    kSuffix,  // they belong to the word before
  };
  enum class Word {
    kLetters,          // [^\r\n\p{L}\p{N}]?\p{L}+
    kLettersAndMarks,  // [^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+, and marks are not punctuation
    kCased,            // ends where a capital follows a small letter; marks count as both
    kPhrase,           // [^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+
  };
  enum class Tail { kNothing, kNewlines, kNewlinesAndSlashes, kNewlineOrSlash };

  Contraction contraction = Contraction::kFirst;
  Word word = Word::kLetters;
  size_t digits = 1;            // of a number in one piece
  Tail tail = Tail::kNewlines;  // what punctuation includes
  bool stepped_spaces = false;  // \s{512}(?!\S)|\s{256}(?!\S)| … |\s{1,2}(?!\S)|\s{1}
  bool han_apart = false;       // Chinese characters are separate pieces
};

// The small ASCII letter that equals `code` without regard to case; for the long s, too.
char32_t FoldedLetter(char32_t code) {
  if (code >= 'A' && code <= 'Z') return code + ('a' - 'A');
  return code == 0x17F ? U's' : code;
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d), or the same without (?i:)
template <bool any_case>
size_t MatchContraction(const Piece& piece, size_t position) {
  if (piece.At(position).code != '\'') return position;
  const auto letter = [](const Character& c) { return any_case ? FoldedLetter(c.code) : c.code; };
  const Character first = piece.At(position + 1);
  const size_t end = position + 1 + first.size_bytes;
  switch (letter(first)) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return end;
    case 'r':
    case 'v':
      return letter(piece.At(end)) == 'e' ? end + 1 : position;
    case 'l':
      return letter(piece.At(end)) == 'l' ? end + 1 : position;
    default:
      return position;
  }
}

size_t SkipAtMost(const Piece& piece, size_t position, unsigned traits, size_t count) {
  for (; count > 0; --count) {
    const Character character = piece.At(position);
    if (!character.Is(traits)) break;
    position += character.size_bytes;
  }
  return position;
}

// [^\r\n\p{L}\p{N}]? and a run of `word` characters.
size_t MatchPlainWord(const Piece& piece, size_t position, unsigned word) {
  const Character first = piece.At(position);
  if (first.Is(word)) return piece.SkipAll(position, word);
  if (first.Is(kNewline | kLetterOrNumber)) return position;
  const size_t start = position + first.size_bytes;
  const size_t end = piece.SkipAll(start, word);
  return end == start ? position : end;
}

size_t MatchPhrase(const Piece& piece, size_t position) {
  const Character first = piece.At(position);
  size_t end = position;
  if (!first.Is(kNewline | kLetterOrNumber)) end += first.size_bytes;
  if (!piece.At(end).Is(kLetter)) return position;
  for (;;) {
    end = piece.SkipAll(end, kLetter);
    end = piece.SkipAll(end, kMark);
    if (piece.At(end).Is(kLetter)) continue;
    if (piece.At(end).code != ' ' || !piece.At(end + 1).Is(kLetter)) return end;
    ++end;
  }
}

struct CasedRun {
  size_t end;
  bool has_lower;
};

// A run of `upper` characters and then one of `lower` characters. Characters that are both (letters
// without case and marks) go to the first run; the second run gets them back if it would be empty:
// [upper]*[lower]+|[upper]+[lower]*
template <typename IsUpper, typename IsLower>
CasedRun MatchCasedRun(const Piece& piece, size_t position, IsUpper is_upper, IsLower is_lower) {
  size_t end = position;
  size_t end_of_last_both = position;
  for (Character c = piece.At(end); is_upper(c); c = piece.At(end)) {
    end += c.size_bytes;
    if (is_lower(c)) end_of_last_both = end;
  }
  const size_t upper_end = end;
  for (Character c = piece.At(end); is_lower(c); c = piece.At(end)) end += c.size_bytes;
  if (end > upper_end) return {end, true};
  if (end_of_last_both > position) return {end_of_last_both, true};
  return {upper_end, false};
}

// With Lu, Lt, Lm, Lo and M as upper and Ll, Lm, Lo and M as lower:
// [^\r\n\p{L}\p{N}]?[upper]*[lower]+|[^\r\n\p{L}\p{N}]?[upper]+[lower]*
template <bool han_apart>
size_t MatchCasedWord(const Piece& piece, size_t position) {
  constexpr unsigned kWordCharacter = kLetter | kMark;
  constexpr unsigned kNever = han_apart ? kHan : 0;
  const auto match_from = [&piece](size_t start) {
    return MatchCasedRun(
        piece, start,
        [](const Character& c) { return c.Is(kWordCharacter) && !c.Is(kSmall | kNever); },
        [](const Character& c) { return c.Is(kWordCharacter) && !c.Is(kCapital | kNever); });
  };
  const Character first = piece.At(position);
  if (first.Is(kNewline | kLetterOrNumber)) return match_from(position).end;
  const size_t start = position + first.size_bytes;
  const CasedRun run = match_from(start);
  // A mark can come before the word or begin it, and the first alternative is tried both ways
  // before the second.
  if (first.Is(kMark)) return run.has_lower ? run.end : match_from(position).end;
  return run.end == start ? position : run.end;
}

template <WordRules rules>
size_t MatchWord(const Piece& piece, size_t position) {
  if constexpr (rules.word == WordRules::Word::kCased) {
    return MatchCasedWord<rules.han_apart>(piece, position);
  } else if constexpr (rules.word == WordRules::Word::kPhrase) {
    return MatchPhrase(piece, position);
  } else {
    constexpr bool kWithMarks = rules.word == WordRules::Word::kLettersAndMarks;
    return MatchPlainWord(piece, position, kLetter | (kWithMarks ? kMark : 0));
  }
}

template <WordRules::Tail tail>
size_t MatchTail(const Piece& piece, size_t position) {
  const auto belongs = [](const Character& c) {
    return c.Is(kNewline) || (tail != WordRules::Tail::kNewlines && c.code == '/');
  };
  if (tail == WordRules::Tail::kNothing) return position;
  if (tail == WordRules::Tail::kNewlineOrSlash) return position + belongs(piece.At(position));
  while (belongs(piece.At(position))) ++position;
  return position;
}

// A space or none, and then a run of existing characters that have none of `excluded`.
size_t MatchOthers(const Piece& piece, size_t position, unsigned excluded) {
  const size_t start = position + (piece.At(position).code == ' ');
  size_t end = start;
  for (Character c = piece.At(end); c.exists() && !c.Is(excluded); c = piece.At(end)) {
    end += c.size_bytes;
  }
  return end == start ? position : end;
}

// White space from `position` on, which is at least one character.
struct SpaceRun {
  size_t end;
  size_t last_start;   // of its last character
  size_t newline_end;  // of its last carriage return or line feed; 0 if there is none
};

SpaceRun SpacesAt(const Piece& piece, size_t position) {
  SpaceRun run = {position, position, 0};
  for (Character c = piece.At(position); c.Is(kSpace); c = piece.At(run.end)) {
    run.last_start = run.end;
    run.end += c.size_bytes;
    if (c.Is(kNewline)) run.newline_end = run.end;
  }
  return run;
}

// \s+(?!\S)|\s+ : the last character of white space stays with what follows.
size_t EndOfPlainSpaces(const Piece& piece, size_t position, const SpaceRun& run) {
  const bool at_end = run.end == piece.end();
  return at_end || run.last_start == position ? run.end : run.last_start;
}

// The pieces of a run of white space without newlines. If a character follows, the caller combines
// the last one with it. Returns the end of the pieces.
size_t StepThroughSpaces(const Piece& piece, size_t position, const SpaceRun& run, PieceSink sink) {
  size_t left = 0;
  for (size_t at = position; at < run.end; at += piece.At(at).size_bytes) ++left;
  // (?!\S) holds before further white space and at the end of the text.
  size_t available = run.end == piece.end() ? left : left - 1;
  if (available == 0) {
    sink(run.end);
    return run.end;
  }
  while (available > 0) {
    size_t step = 512;
    while (step > available) step = step == 4 ? 2 : step / 2;
    position = SkipAtMost(piece, position, kSpace, step);
    available -= step;
    sink(position);
  }
  return position;
}

template <WordRules rules>
size_t MatchVisible(const Piece& piece, size_t position) {
  size_t end = position;
  if constexpr (rules.han_apart) {
    end = piece.SkipAll(position, kHan);
    if (end > position) return end;
  }
  if constexpr (rules.contraction == WordRules::Contraction::kFirst) {
    end = MatchContraction<true>(piece, position);
    if (end > position) return end;
  }
  end = MatchWord<rules>(piece, position);
  if (end > position) {
    return rules.contraction == WordRules::Contraction::kSuffix ? MatchContraction<true>(piece, end)
                                                                : end;
  }
  end = SkipAtMost(piece, position, kNumber, rules.digits);
  if (end > position) return end;
  constexpr bool kMarksAreWord = rules.word == WordRules::Word::kLettersAndMarks;
  end = MatchOthers(piece, position, kSpace | kLetterOrNumber | (kMarksAreWord ? kMark : 0));
  return end > position ? MatchTail<rules.tail>(piece, end) : position;
}

template <WordRules rules>
void SplitWords(const Piece& piece, PieceSink sink) {
  size_t position = piece.begin();
  while (position < piece.end()) {
    const size_t end = MatchVisible<rules>(piece, position);
    if (end > position) {
      position = end;
      sink(position);
      continue;
    }
    const SpaceRun run = SpacesAt(piece, position);
    if (rules.stepped_spaces && run.newline_end == 0) {
      position = StepThroughSpaces(piece, position, run, sink);
      continue;
    }
    position = run.newline_end != 0 ? run.newline_end : EndOfPlainSpaces(piece, position, run);
    sink(position);
  }
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t MatchGpt2(const Piece& piece, size_t position) {
  const Character first = piece.At(position);
  if (first.code == '\'') {
    const size_t end = MatchContraction<false>(piece, position);
    if (end > position) return end;
  }
  const size_t start = position + (first.code == ' ');
  const Character character = first.code == ' ' ? piece.At(start) : first;
  if (character.Is(kLetter)) return piece.SkipAll(start, kLetter);
  if (character.Is(kNumber)) return piece.SkipAll(start, kNumber);
  const size_t end = MatchOthers(piece, position, kSpace | kLetterOrNumber);
  return end > position ? end : EndOfPlainSpaces(piece, position, SpacesAt(piece, position));
}

// [!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*
// |\s*[\r\n]+|\s+(?!\S)|\s+
size_t MatchDeepseekV3(const Piece& piece, size_t position) {
  const auto is_ascii_letter = [](const Character& c) { return c.code < 0x80 && c.Is(kLetter); };
  const Character first = piece.At(position);
  if (first.code < 0x80 && first.Is(kPunctuation | kSymbol)) {
    size_t end = position + 1;
    while (is_ascii_letter(piece.At(end))) ++end;
    if (end > position + 1) return end;
  }
  constexpr unsigned kWordCharacter = kLetter | kMark;
  if (first.Is(kWordCharacter)) return piece.SkipAll(position, kWordCharacter);
  if (!first.Is(kNewline | kPunctuation | kSymbol)) {
    const size_t start = position + first.size_bytes;
    const size_t end = piece.SkipAll(start, kWordCharacter);
    if (end > start) return end;
  }
  const size_t start = position + (first.code == ' ');
  const size_t end = piece.SkipAll(start, kPunctuation | kSymbol);
  if (end > start) return MatchTail<WordRules::Tail::kNewlines>(piece, end);
  const SpaceRun run = SpacesAt(piece, position);
  if (run.newline_end != 0) return run.newline_end;
  return run.end > position ? EndOfPlainSpaces(piece, position, run) : position;
}

constexpr WordRules kLlama3 = {.digits = 3};
constexpr WordRules kQwen2 = {};
constexpr WordRules kQwen35 = {.word = WordRules::Word::kLettersAndMarks};
constexpr WordRules kJais2 = {.digits = 3, .stepped_spaces = true};
constexpr WordRules kSeed = {.tail = WordRules::Tail::kNothing};
constexpr WordRules kExaoneMoe = {.word = WordRules::Word::kPhrase,
                                  .tail = WordRules::Tail::kNewlineOrSlash};
constexpr WordRules kGpt4o = {.contraction = WordRules::Contraction::kSuffix,
                              .word = WordRules::Word::kCased,
                              .digits = 3,
                              .tail = WordRules::Tail::kNewlinesAndSlashes};
constexpr WordRules kTekken = {.contraction = WordRules::Contraction::kNone,
                               .word = WordRules::Word::kCased,
                               .tail = WordRules::Tail::kNewlinesAndSlashes};
constexpr WordRules kYoutu = {.contraction = WordRules::Contraction::kSuffix,
                              .word = WordRules::Word::kCased,
                              .tail = WordRules::Tail::kNewlinesAndSlashes};
constexpr WordRules kKimi = {.contraction = WordRules::Contraction::kSuffix,
                             .word = WordRules::Word::kCased,
                             .digits = 3,
                             .han_apart = true};

}  // namespace

void Gpt2Words(const Piece& piece, PieceSink sink) {
  for (size_t position = piece.begin(); position < piece.end();) {
    position = MatchGpt2(piece, position);
    sink(position);
  }
}

void DeepseekV3Words(const Piece& piece, PieceSink sink) {
  // Numbers and control characters do not match; a run of them is one piece.
  size_t unmatched = piece.begin();
  size_t position = piece.begin();
  while (position < piece.end()) {
    const size_t end = MatchDeepseekV3(piece, position);
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

void Llama3Words(const Piece& piece, PieceSink sink) { SplitWords<kLlama3>(piece, sink); }
void Qwen2Words(const Piece& piece, PieceSink sink) { SplitWords<kQwen2>(piece, sink); }
void Qwen35Words(const Piece& piece, PieceSink sink) { SplitWords<kQwen35>(piece, sink); }
void Jais2Words(const Piece& piece, PieceSink sink) { SplitWords<kJais2>(piece, sink); }
void SeedWords(const Piece& piece, PieceSink sink) { SplitWords<kSeed>(piece, sink); }
void ExaoneMoeWords(const Piece& piece, PieceSink sink) { SplitWords<kExaoneMoe>(piece, sink); }
void Gpt4oWords(const Piece& piece, PieceSink sink) { SplitWords<kGpt4o>(piece, sink); }
void TekkenWords(const Piece& piece, PieceSink sink) { SplitWords<kTekken>(piece, sink); }
void YoutuWords(const Piece& piece, PieceSink sink) { SplitWords<kYoutu>(piece, sink); }
void KimiWords(const Piece& piece, PieceSink sink) { SplitWords<kKimi>(piece, sink); }

}  // namespace aster::text::steps
