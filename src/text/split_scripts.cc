// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "text/isolate.h"
#include "text/split_steps.h"

namespace aster::text::steps {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// The letters of DeepSeek's first models, by ascending code: Latin, Greek, Coptic, Cyrillic,
// Armenian, Georgian and Cherokee capitals and small letters of the Unicode version of that time.
constexpr Range kDeepseekLetters[] = {
    {0x41, 0x5A},       {0x61, 0x7A},       {0xB5, 0xB5},       {0xC0, 0xD6},
    {0xD8, 0xF6},       {0xF8, 0x1BA},      {0x1BC, 0x1BF},     {0x1C4, 0x293},
    {0x295, 0x2AF},     {0x370, 0x373},     {0x376, 0x377},     {0x37B, 0x37D},
    {0x37F, 0x37F},     {0x386, 0x386},     {0x388, 0x38A},     {0x38C, 0x38C},
    {0x38E, 0x3A1},     {0x3A3, 0x3F5},     {0x3F7, 0x481},     {0x48A, 0x52F},
    {0x531, 0x556},     {0x10A0, 0x10C5},   {0x13A0, 0x13F5},   {0x13F8, 0x13FD},
    {0x1C90, 0x1CBA},   {0x1CBD, 0x1CBF},   {0x1D00, 0x1D2B},   {0x1D6B, 0x1D77},
    {0x1D79, 0x1D9A},   {0x1E00, 0x1F15},   {0x1F18, 0x1F1D},   {0x1F20, 0x1F45},
    {0x1F48, 0x1F4D},   {0x1F50, 0x1F57},   {0x1F59, 0x1F59},   {0x1F5B, 0x1F5B},
    {0x1F5D, 0x1F5D},   {0x1F5F, 0x1F7D},   {0x1F80, 0x1FB4},   {0x1FB6, 0x1FBC},
    {0x1FBE, 0x1FBE},   {0x1FC2, 0x1FC4},   {0x1FC6, 0x1FCC},   {0x1FD0, 0x1FD3},
    {0x1FD6, 0x1FDB},   {0x1FE0, 0x1FEC},   {0x1FF2, 0x1FF4},   {0x1FF6, 0x1FFC},
    {0x2102, 0x2102},   {0x2107, 0x2107},   {0x210A, 0x2113},   {0x2115, 0x2115},
    {0x2119, 0x211D},   {0x2124, 0x2124},   {0x2126, 0x2126},   {0x2128, 0x2128},
    {0x212A, 0x212D},   {0x212F, 0x2134},   {0x2139, 0x2139},   {0x213C, 0x213F},
    {0x2145, 0x2149},   {0x214E, 0x214E},   {0x2183, 0x2184},   {0x2C00, 0x2C7B},
    {0x2C7E, 0x2CE4},   {0x2CEB, 0x2CEE},   {0x2CF2, 0x2CF3},   {0xA640, 0xA66D},
    {0xA680, 0xA69B},   {0xA722, 0xA76F},   {0xA771, 0xA787},   {0xA78B, 0xA78E},
    {0xAB70, 0xABBF},   {0xFB00, 0xFB06},   {0xFB13, 0xFB17},   {0xFF21, 0xFF3A},
    {0xFF41, 0xFF5A},   {0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB},
    {0x10C80, 0x10CB2}, {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943},
};

// Includes the ASCII letters: they are between the colon and the tilde.
constexpr Range kDeepseekPunctuation[] = {
    {0x21, 0x2F},     {0x3A, 0x7E},     {0x2018, 0x201F},
    {0x3000, 0x3002}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF5E},
};

// From Samaritan to the common ideographs, and Hangul.
constexpr Range kDeepseekIdeographs[] = {{0x800, 0x9FA5}, {0xAC00, 0xD7FF}};

// Common ideographs and both kana.
constexpr Range kCjk[] = {{0x3040, 0x30FF}, {0x4E00, 0x9FA5}};

// Thai, Lao, Myanmar with its extensions, Hangul jamo, Khmer, radicals, kana, half-width kana, and
// everything from the ideographs to their compatibility forms.
constexpr Range kAsian[] = {
    {0xE40, 0xE7F},   {0xE80, 0xEFF},   {0x1000, 0x109F}, {0x1100, 0x11FF}, {0x1780, 0x17FF},
    {0x2F00, 0x2FDF}, {0x3040, 0x30FF}, {0x3400, 0x4DBF}, {0x4E00, 0xFAFF}, {0xFF65, 0xFF9F},
};

constexpr Range kHangul[] = {{0x3131, 0x318E}, {0xAC00, 0xD7A3}};
constexpr Range kChinesePunctuation[] = {
    {0x2014, 0x2014}, {0x2018, 0x2019}, {0x201C, 0x201D}, {0x2026, 0x2026}, {0x3001, 0x303F},
    {0xFE30, 0xFE4F}, {0xFF01, 0xFF01}, {0xFF0C, 0xFF0C}, {0xFF1A, 0xFF1B},
};
constexpr Range kBopomofo[] = {{0x3105, 0x312F}};

// The ASCII characters in a list.
template <const auto& ranges>
constexpr std::array<bool, 128> kAsciiIn = [] {
  std::array<bool, 128> in = {};
  for (const Range& range : ranges) {
    for (char32_t code = range.first; code <= range.last && code < 128; ++code) in[code] = true;
  }
  return in;
}();

// Whether the character is in a list by ascending code.
template <const auto& ranges>
bool In(const Character& character) {
  if (character.code < 128) return kAsciiIn<ranges>[character.code];
  const Range* after = std::ranges::upper_bound(ranges, character.code, {}, &Range::first);
  return after != std::begin(ranges) && character.code <= std::prev(after)->last;
}

size_t MatchYoutuScript(const Piece& piece, size_t position) {
  for (const auto match : {MatchRun<In<kHangul>>, MatchRun<In<kChinesePunctuation>>,
                           MatchRun<In<kBopomofo>>, MatchRun<In<kCjk>>}) {
    const size_t end = match(piece, position);
    if (end > position) return end;
  }
  return position;
}

}  // namespace

void DeepseekLetters(const Piece& piece, PieceSink sink) {
  Isolate<MatchSpacedRun<In<kDeepseekLetters>>>(piece, sink);
}
void DeepseekPunctuation(const Piece& piece, PieceSink sink) {
  Isolate<MatchSpacedRun<In<kDeepseekPunctuation>>>(piece, sink);
}
void DeepseekIdeographs(const Piece& piece, PieceSink sink) {
  Isolate<MatchRun<In<kDeepseekIdeographs>>>(piece, sink);
}
void CjkRuns(const Piece& piece, PieceSink sink) { Isolate<MatchRun<In<kCjk>>>(piece, sink); }
void AsianRuns(const Piece& piece, PieceSink sink) { Isolate<MatchRun<In<kAsian>>>(piece, sink); }
void YoutuScripts(const Piece& piece, PieceSink sink) { Isolate<MatchYoutuScript>(piece, sink); }

}  // namespace aster::text::steps
