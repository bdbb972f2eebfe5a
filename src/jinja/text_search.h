// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Finds text in text in linear time, whatever both are, so that a template cannot make a search
// take the product of the sizes.
#pragma once

#include <string_view>

namespace aster::jinja {

// The offset of the first (last) occurrence, or npos.
size_t FindFirst(std::string_view text, std::string_view wanted, size_t from = 0);
size_t FindLast(std::string_view text, std::string_view wanted);

}  // namespace aster::jinja
