// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Text as roff, the language of manual pages. Must not know what a page says.
#pragma once

#include <string>
#include <string_view>

namespace aster::cli {

// `text` as man shows it letter by letter: hyphens that can be copied, quotes that stay as they
// are, and no line that roff takes for a request.
std::string RoffText(std::string_view text);

std::string RoffBold(std::string_view text);
std::string RoffItalic(std::string_view text);

// A footer of `--help`: lines that are indented stay lines, the others flow into paragraphs.
std::string RoffNotes(std::string_view text);

}  // namespace aster::cli
