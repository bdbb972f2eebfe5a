// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace aster::jinja {
namespace {

struct CodePointRange {
  char32_t first;
  char32_t last;
};

// Digits that are not decimal: superscripts, circled digits and so on.
constexpr CodePointRange kOtherDigits[] = {
    {0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},
    {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
    {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
    {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
    {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};

utf8proc_category_t CategoryOf(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

// The case folding of the code point, one or more code points.
std::u32string FoldOf(char32_t c) {
  utf8proc_int32_t folded[8];
  int boundary_class = 0;
  const utf8proc_ssize_t size =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded, std::size(folded),
                              UTF8PROC_CASEFOLD, &boundary_class);
  if (size <= 0) return std::u32string(1, c);
  return std::u32string(folded, folded + std::min<size_t>(size, std::size(folded)));
}

char32_t SimpleUpper(char32_t c) { return utf8proc_toupper(static_cast<utf8proc_int32_t>(c)); }
char32_t SimpleTitle(char32_t c) { return utf8proc_totitle(static_cast<utf8proc_int32_t>(c)); }

bool IsUpper(char32_t c) { return utf8proc_isupper(static_cast<utf8proc_int32_t>(c)) != 0; }
bool IsLower(char32_t c) { return utf8proc_islower(static_cast<utf8proc_int32_t>(c)) != 0; }
bool IsTitle(char32_t c) { return CategoryOf(c) == UTF8PROC_CATEGORY_LT; }

// A letter whose capital is several letters folds to the same letters in lower case, so the capital
// can be made from the folding. (Capitals that fold to several letters are capitals already.)
void AppendUpper(std::string& text, char32_t c) {
  if (c < 0x80 || CategoryOf(c) == UTF8PROC_CATEGORY_LU) return AppendUtf8(text, SimpleUpper(c));
  const std::u32string fold = FoldOf(c);
  if (fold.size() == 1) return AppendUtf8(text, SimpleUpper(c));
  for (const char32_t folded : fold) AppendUtf8(text, SimpleUpper(folded));
}

void AppendTitle(std::string& text, char32_t c) {
  const bool is_capital = IsUpper(c) || IsTitle(c);
  if (c < 0x80 || is_capital || SimpleTitle(c) != c) {
    // U+00DF is the only letter with a capital that titles do not use.
    if (c != 0xDF) return AppendUtf8(text, SimpleTitle(c));
  }
  const std::u32string fold = FoldOf(c);
  if (fold.size() == 1 || is_capital) return AppendUtf8(text, c);
  bool capital_done = false;
  for (const char32_t folded : fold) {
    constexpr char32_t kIota = 0x3B9;
    constexpr char32_t kIotaSubscript = 0x345;
    if (!capital_done) {
      AppendUtf8(text, SimpleTitle(folded));
      capital_done = SimpleTitle(folded) != folded;
    } else {
      AppendUtf8(text, folded == kIota ? kIotaSubscript : folded);
    }
  }
}

bool IsCased(char32_t c) { return IsUpper(c) || IsLower(c) || IsTitle(c); }

// Marks and signs between letters that do not end a word.
bool IsCaseIgnorable(char32_t c) {
  switch (CategoryOf(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      constexpr char32_t kMidWord[] = {'\'',   '.',    ':',    0xB7,   0x387,  0x55F,
                                       0x5F4,  0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                                       0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
      return std::ranges::find(kMidWord, c) != std::end(kMidWord);
  }
}

// Whether the capital sigma between these offsets ends a word, and so becomes U+03C2.
bool IsFinalSigma(std::string_view text, size_t begin, size_t end) {
  bool letter_before = false;
  while (begin > 0) {
    const char32_t c = DecodePrevious(text, begin);
    if (IsCaseIgnorable(c)) continue;
    letter_before = IsCased(c);
    break;
  }
  if (!letter_before) return false;
  while (end < text.size()) {
    const char32_t c = DecodeNext(text, end);
    if (!IsCaseIgnorable(c)) return !IsCased(c);
  }
  return true;
}

// Appends the lower case of the code point `c` between the offsets.
void AppendLower(std::string& lower, std::string_view text, char32_t c, size_t begin, size_t end) {
  constexpr char32_t kCapitalSigma = 0x3A3;
  constexpr char32_t kDottedCapitalI = 0x130;
  if (c == kCapitalSigma) {
    return AppendUtf8(lower, IsFinalSigma(text, begin, end) ? 0x3C2 : 0x3C3);
  }
  if (c == kDottedCapitalI) {
    lower += "i\xCC\x87";
    return;
  }
  AppendUtf8(lower, utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

}  // namespace

char32_t DecodeNext(std::string_view text, size_t& offset) {
  const Utf8Step step = DecodeUtf8(text.substr(offset));
  offset += step.size;
  return step.code_point;
}

char32_t DecodePrevious(std::string_view text, size_t& offset) {
  constexpr size_t kLongest = 4;
  for (size_t size = 1; size <= std::min(kLongest, offset); ++size) {
    const Utf8Step step = DecodeUtf8(text.substr(offset - size, size));
    if (!step.valid || step.size != size) continue;
    offset -= size;
    return step.code_point;
  }
  --offset;
  return kReplacementCharacter;
}

std::u32string Decode(std::string_view text) {
  std::u32string code_points;
  code_points.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) code_points += DecodeNext(text, offset);
  return code_points;
}

std::string Encode(std::u32string_view code_points) {
  std::string text;
  text.reserve(code_points.size());
  for (const char32_t c : code_points) AppendUtf8(text, c);
  return text;
}

size_t CountCodePoints(std::string_view text) {
  size_t count = 0;
  for (size_t offset = 0; offset < text.size(); ++count) DecodeNext(text, offset);
  return count;
}

size_t OffsetOfCodePoint(std::string_view text, size_t index) {
  size_t offset = 0;
  while (index-- > 0 && offset < text.size()) DecodeNext(text, offset);
  return offset;
}

bool IsSpace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0x2028 || c == 0x2029 || CategoryOf(c) == UTF8PROC_CATEGORY_ZS;
}

bool IsLetter(char32_t c) {
  const utf8proc_category_t category = CategoryOf(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool IsDigit(char32_t c) {
  if (CategoryOf(c) == UTF8PROC_CATEGORY_ND) return true;
  return std::ranges::any_of(
      kOtherDigits, [c](const auto& range) { return c >= range.first && c <= range.last; });
}

bool IsNumber(char32_t c) {
  const utf8proc_category_t category = CategoryOf(c);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool IsPrintable(char32_t c) {
  if (c == ' ') return true;
  switch (CategoryOf(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

bool IsNameStart(char32_t c) {
  return c == '_' || IsLetter(c) || CategoryOf(c) == UTF8PROC_CATEGORY_NL;
}

bool IsNameContinue(char32_t c) {
  if (IsNameStart(c)) return true;
  const utf8proc_category_t category = CategoryOf(c);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_PC;
}

std::string ToUpper(std::string_view text) {
  std::string upper;
  upper.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) AppendUpper(upper, DecodeNext(text, offset));
  return upper;
}

std::string ToLower(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) {
    const size_t begin = offset;
    const char32_t c = DecodeNext(text, offset);
    AppendLower(lower, text, c, begin, offset);
  }
  return lower;
}

std::string ToTitle(std::string_view text) {
  std::string title;
  title.reserve(text.size());
  bool in_word = false;
  for (size_t offset = 0; offset < text.size();) {
    const size_t begin = offset;
    const char32_t c = DecodeNext(text, offset);
    if (in_word) {
      AppendLower(title, text, c, begin, offset);
    } else {
      AppendTitle(title, c);
    }
    in_word = IsCased(c);
  }
  return title;
}

std::string ToCapitalized(std::string_view text) {
  std::string capitalized;
  capitalized.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) {
    const size_t begin = offset;
    const char32_t c = DecodeNext(text, offset);
    if (begin == 0) {
      AppendTitle(capitalized, c);
    } else {
      AppendLower(capitalized, text, c, begin, offset);
    }
  }
  return capitalized;
}

}  // namespace aster::jinja
