// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The size of a terminal. Must not know what is shown on it.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>

namespace aster::cli {

struct ScreenSize {
  size_t columns = 0;
  size_t rows = 0;
};

// Nullopt if `stream` is not a terminal, or its size is unknown.
std::optional<ScreenSize> SizeOfScreen(std::FILE* stream);

}  // namespace aster::cli
