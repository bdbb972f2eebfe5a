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

// Ideographs that are numbers; every other number says so by its category.
constexpr char32_t kNumericIdeographs[] = {
    0x3405,  0x3483,  0x382A,  0x3B4D,  0x4E00,  0x4E03,  0x4E07,  0x4E09,  0x4E5D,
    0x4E8C,  0x4E94,  0x4E96,  0x4EBF,  0x4EC0,  0x4EDF,  0x4EE8,  0x4F0D,  0x4F70,
    0x5104,  0x5146,  0x5169,  0x516B,  0x516D,  0x5341,  0x5343,  0x5344,  0x5345,
    0x534C,  0x53C1,  0x53C2,  0x53C3,  0x53C4,  0x56DB,  0x58F1,  0x58F9,  0x5E7A,
    0x5EFE,  0x5EFF,  0x5F0C,  0x5F0D,  0x5F0E,  0x5F10,  0x62FE,  0x634C,  0x67D2,
    0x6F06,  0x7396,  0x767E,  0x8086,  0x842C,  0x8CAE,  0x8CB3,  0x8D30,  0x9621,
    0x9646,  0x964C,  0x9678,  0x96F6,  0xF96B,  0xF973,  0xF978,  0xF9B2,  0xF9D1,
    0xF9D3,  0xF9FD,  0x20001, 0x20064, 0x200E2, 0x20121, 0x2092A, 0x20983, 0x2098C,
    0x2099C, 0x20AEA, 0x20AFD, 0x20B19, 0x22390, 0x22998, 0x23B1B, 0x2626D, 0x2F890};

utf8proc_category_t CategoryOf(char32_t c) {
  return c >= kBadByte ? UTF8PROC_CATEGORY_CN : utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool IsContinuation(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

// The number of bytes that a lead byte announces; 0 for a byte that cannot lead.
size_t SequenceSize(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

// What the code point becomes when case is folded, one or more code points.
std::u32string FoldOf(char32_t c) {
  if (c >= kBadByte) return std::u32string(1, c);
  utf8proc_int32_t folded[8];
  int boundary_class = 0;
  const utf8proc_ssize_t size =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded, std::size(folded),
                              UTF8PROC_CASEFOLD, &boundary_class);
  if (size <= 0) return std::u32string(1, c);
  return std::u32string(folded, folded + std::min<size_t>(size, std::size(folded)));
}

char32_t SimpleUpper(char32_t c) {
  return c >= kBadByte ? c : utf8proc_toupper(static_cast<utf8proc_int32_t>(c));
}
char32_t SimpleTitle(char32_t c) {
  return c >= kBadByte ? c : utf8proc_totitle(static_cast<utf8proc_int32_t>(c));
}

// A letter whose capital is several letters folds to the same several letters in lower case, so the
// capital can be had from the fold. (Capitals that fold to several letters are capitals already.)
void AppendUpper(std::string& text, char32_t c) {
  if (c < 0x80 || CategoryOf(c) == UTF8PROC_CATEGORY_LU)
    return AppendCodePoint(text, SimpleUpper(c));
  const std::u32string fold = FoldOf(c);
  if (fold.size() == 1) return AppendCodePoint(text, SimpleUpper(c));
  for (const char32_t folded : fold) AppendCodePoint(text, SimpleUpper(folded));
}

void AppendTitle(std::string& text, char32_t c) {
  const bool is_capital = IsUpper(c) || IsTitle(c);
  if (c < 0x80 || is_capital || SimpleTitle(c) != c) {
    // U+00DF is the one letter with a capital of its own that titles do not use.
    if (c != 0xDF) return AppendCodePoint(text, SimpleTitle(c));
  }
  const std::u32string fold = FoldOf(c);
  if (fold.size() == 1 || is_capital) return AppendCodePoint(text, c);
  bool capital_done = false;
  for (const char32_t folded : fold) {
    constexpr char32_t kIota = 0x3B9;
    constexpr char32_t kIotaSubscript = 0x345;
    if (!capital_done) {
      AppendCodePoint(text, SimpleTitle(folded));
      capital_done = SimpleTitle(folded) != folded;
    } else {
      AppendCodePoint(text, folded == kIota ? kIotaSubscript : folded);
    }
  }
}

bool IsCased(char32_t c) { return IsUpper(c) || IsLower(c) || IsTitle(c); }

// Marks and signs that stand between letters without ending a word.
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

// Appends the lower case of the code point `c` that stands between the offsets.
void AppendLower(std::string& lower, std::string_view text, char32_t c, size_t begin, size_t end) {
  constexpr char32_t kCapitalSigma = 0x3A3;
  constexpr char32_t kDottedCapitalI = 0x130;
  if (c == kCapitalSigma) {
    return AppendCodePoint(lower, IsFinalSigma(text, begin, end) ? 0x3C2 : 0x3C3);
  }
  if (c == kDottedCapitalI) {
    lower += "i\xCC\x87";
    return;
  }
  AppendCodePoint(lower, c >= kBadByte ? c : utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

}  // namespace

char32_t DecodeNext(std::string_view text, size_t& offset) {
  const auto lead = static_cast<uint8_t>(text[offset]);
  const size_t size = SequenceSize(lead);
  if (size == 1) {
    ++offset;
    return lead;
  }
  if (size == 0 || text.size() - offset < size) {
    ++offset;
    return kBadByte + lead;
  }
  char32_t c = lead & (0xFF >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if (!IsContinuation(text[offset + i])) {
      ++offset;
      return kBadByte + lead;
    }
    c = (c << 6) | (static_cast<uint8_t>(text[offset + i]) & 0x3F);
  }
  const bool is_overlong = (size == 3 && c < 0x800) || (size == 4 && c < 0x10000);
  const bool is_surrogate = c >= 0xD800 && c < 0xE000;
  if (is_overlong || is_surrogate || c > 0x10FFFF) {
    ++offset;
    return kBadByte + lead;
  }
  offset += size;
  return c;
}

char32_t DecodePrevious(std::string_view text, size_t& offset) {
  for (size_t size = 1; size <= 4 && size <= offset; ++size) {
    size_t end = offset - size;
    if (IsContinuation(text[end])) continue;
    const char32_t c = DecodeNext(text, end);
    if (end != offset) break;
    offset -= size;
    return c;
  }
  --offset;
  return kBadByte + static_cast<uint8_t>(text[offset]);
}

void AppendCodePoint(std::string& text, char32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | (c >> 6));
    text += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | (c >> 12));
    text += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < kBadByte) {
    text += static_cast<char>(0xF0 | (c >> 18));
    text += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    text += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    text += static_cast<char>(c - kBadByte);
  }
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
  for (const char32_t c : code_points) AppendCodePoint(text, c);
  return text;
}

bool IsAscii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

bool IsValidUtf8(std::string_view text) {
  for (size_t offset = 0; offset < text.size();) {
    if (DecodeNext(text, offset) >= kBadByte) return false;
  }
  return true;
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

bool IsDecimal(char32_t c) { return CategoryOf(c) == UTF8PROC_CATEGORY_ND; }

bool IsDigit(char32_t c) {
  if (IsDecimal(c)) return true;
  return std::ranges::any_of(
      kOtherDigits, [c](const auto& range) { return c >= range.first && c <= range.last; });
}

bool IsNumeric(char32_t c) {
  const utf8proc_category_t category = CategoryOf(c);
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) return true;
  return std::ranges::binary_search(kNumericIdeographs, c);
}

bool IsUpper(char32_t c) {
  return c < kBadByte && utf8proc_isupper(static_cast<utf8proc_int32_t>(c)) != 0;
}
bool IsLower(char32_t c) {
  return c < kBadByte && utf8proc_islower(static_cast<utf8proc_int32_t>(c)) != 0;
}
bool IsTitle(char32_t c) { return CategoryOf(c) == UTF8PROC_CATEGORY_LT; }

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

bool IsWord(char32_t c) { return c == '_' || IsLetter(c) || IsNumeric(c); }

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

std::string SwapCase(std::string_view text) {
  std::string swapped;
  swapped.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) {
    const size_t begin = offset;
    const char32_t c = DecodeNext(text, offset);
    if (IsUpper(c)) {
      AppendLower(swapped, text, c, begin, offset);
    } else if (IsLower(c)) {
      AppendUpper(swapped, c);
    } else {
      AppendCodePoint(swapped, c);
    }
  }
  return swapped;
}

std::string CaseFold(std::string_view text) {
  std::string folded;
  folded.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) folded += Encode(FoldOf(DecodeNext(text, offset)));
  return folded;
}

}  // namespace aster::jinja
