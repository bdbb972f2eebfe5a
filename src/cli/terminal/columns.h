// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How much room text takes on a terminal, character by character: wide ones take two columns, marks
// above others none. Must not know colours, nor tables (table.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aster::cli {

size_t ColumnsOf(std::string_view text);

// The beginning of `text` that fits; where something is left out, it ends with "…".
std::string CutToColumns(std::string_view text, size_t columns);

// Cut, or with spaces behind it.
std::string FitToColumns(std::string_view text, size_t columns);

}  // namespace aster::cli
