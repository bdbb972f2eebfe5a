// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Completions of the beginning of a line. Must not know terminals, nor what lines mean.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aster::cli {

struct Completion {
  std::string more;                  // to insert after the typed text
  std::vector<std::string> choices;  // if several candidates continue with different words
};

// Word by word: of "/set temp" and "/stats" the beginning "/s" has the choices "/set" and "/stats".
Completion Complete(std::string_view typed, std::span<const std::string> candidates);

}  // namespace aster::cli
