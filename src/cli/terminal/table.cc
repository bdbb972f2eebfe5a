// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/terminal/table.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"

namespace aster::cli {
namespace {

// The offset after an escape sequence that starts at `offset`: ESC [ … letter.
size_t SkipEscape(std::string_view text, size_t offset) {
  size_t end = offset + 2;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  return std::min(end + 1, text.size());
}

}  // namespace

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0x1b && i + 1 < text.size() && text[i + 1] == '[') {
      i = SkipEscape(text, i);
      continue;
    }
    if ((byte & 0xc0) != 0x80) ++width;  // not a continuation byte: a character begins
    ++i;
  }
  return width;
}

void Table::AddRow(std::vector<std::string> cells) {
  CHECK(cells.size() <= columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::Render(size_t indent) const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], DisplayWidth(row[c]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - DisplayWidth(row[c]), ' ');
      if (c > 0) line += "  ";
      line += columns_[c] == Align::kRight ? padding + row[c] : row[c] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace aster::cli
