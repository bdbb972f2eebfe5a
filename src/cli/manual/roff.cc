// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/manual/roff.h"

#include <algorithm>

namespace aster::cli {
namespace {

std::string_view Escaped(char c) {
  switch (c) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";
    case '\'':
      return "\\(aq";
    case '`':
      return "\\(ga";
    case '^':
      return "\\(ha";
    case '~':
      return "\\(ti";
    default:
      return "";
  }
}

}  // namespace

std::string RoffText(std::string_view text) {
  std::string roff;
  for (const char c : text) {
    const bool begins_line = roff.empty() || roff.back() == '\n';
    if (begins_line && c == '.') roff += "\\&";
    const std::string_view escaped = Escaped(c);
    if (escaped.empty()) {
      roff += c;
    } else {
      roff += escaped;
    }
  }
  return roff;
}

std::string RoffBold(std::string_view text) { return "\\fB" + RoffText(text) + "\\fR"; }
std::string RoffItalic(std::string_view text) { return "\\fI" + RoffText(text) + "\\fR"; }

std::string RoffNotes(std::string_view text) {
  std::string roff;
  bool keeps_lines = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    const bool is_indented = line.starts_with(' ');
    if (is_indented != keeps_lines) roff += is_indented ? ".PP\n.nf\n" : ".fi\n.PP\n";
    keeps_lines = is_indented;
    roff += RoffText(line) + "\n";
  }
  return keeps_lines ? roff + ".fi\n" : roff;
}

}  // namespace aster::cli
