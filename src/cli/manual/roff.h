// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Text in roff, the language of manual pages. Must not know what a page says.
#pragma once

#include <string>
#include <string_view>

namespace aster::cli {

// `text` as literal roff: hyphens that can be copied, unchanged quotes, and no line that roff takes
// for a request.
std::string RoffText(std::string_view text);

std::string RoffBold(std::string_view text);
std::string RoffItalic(std::string_view text);

// A footer of `--help`: indented lines stay lines, the others become paragraphs.
std::string RoffNotes(std::string_view text);

}  // namespace aster::cli
