// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The width of text on a terminal, character by character: wide ones take two columns, combining
// marks none. Must not know colours, nor tables (table.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aster::cli {

size_t ColumnsOf(std::string_view text);

// The beginning of `text` that fits; ends with "…" if text is left out.
std::string CutToColumns(std::string_view text, size_t columns);

// Cut, or padded with spaces.
std::string FitToColumns(std::string_view text, size_t columns);

}  // namespace aster::cli
