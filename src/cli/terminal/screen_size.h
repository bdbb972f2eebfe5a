// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How large a terminal is. Must not know what is shown on it.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>

namespace aster::cli {

struct ScreenSize {
  size_t columns = 0;
  size_t rows = 0;
};

// Nothing where `stream` is no terminal, or one that does not know its size.
std::optional<ScreenSize> SizeOfScreen(std::FILE* stream);

}  // namespace aster::cli
