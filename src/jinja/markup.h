// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// HTML in strings: escaping it, and taking it out.
#pragma once

#include <string>
#include <string_view>

namespace aster::jinja {

std::string EscapeHtml(std::string_view text);
// Without comments and tags, runs of white space as one space, common entities as characters.
std::string StripTags(std::string_view text);

}  // namespace aster::jinja
