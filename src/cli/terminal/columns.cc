// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/terminal/columns.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/utf8.h"

namespace aster::cli {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// Combining marks, joiners, and variation selectors.
constexpr Range kNarrow[] = {{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},
                             {0x0610, 0x061a}, {0x064b, 0x065f}, {0x0e34, 0x0e3a},
                             {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
                             {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
// East Asian scripts, and pictures.
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
    {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};

template <size_t kCount>
bool IsIn(const Range (&ranges)[kCount], uint32_t code_point) {
  return std::ranges::any_of(ranges, [&](const Range& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

size_t ColumnsOfCharacter(uint32_t code_point) {
  if (IsIn(kNarrow, code_point)) return 0;
  return IsIn(kWide, code_point) ? 2 : 1;
}

// Bytes of the longest beginning that takes at most `columns` columns.
size_t SizeThatFits(std::string_view text, size_t columns) {
  size_t size = 0;
  for (size_t used = 0; size < text.size();) {
    const Utf8Step step = DecodeUtf8(text.substr(size));
    used += ColumnsOfCharacter(step.code_point);
    if (used > columns) break;
    size += step.size;
  }
  return size;
}

}  // namespace

size_t ColumnsOf(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    columns += ColumnsOfCharacter(step.code_point);
    text.remove_prefix(step.size);
  }
  return columns;
}

std::string CutToColumns(std::string_view text, size_t columns) {
  if (SizeThatFits(text, columns) == text.size()) return std::string(text);
  if (columns == 0) return "";
  return std::string(text.substr(0, SizeThatFits(text, columns - 1))) + "…";
}

std::string FitToColumns(std::string_view text, size_t columns) {
  std::string cut = CutToColumns(text, columns);
  cut.append(columns - ColumnsOf(cut), ' ');
  return cut;
}

}  // namespace aster::cli
