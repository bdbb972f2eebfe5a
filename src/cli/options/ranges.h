// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Ranges of numbers, described for users. Must not know options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace aster::cli {

// Whole numbers without a limit.
inline CLI::Validator NotNegative() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        return text.starts_with('-') ? "give 0 or more, not " + text : "";
      },
      "");
}

inline CLI::Validator OneOrMore() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        const bool is_zero = !text.empty() && text.find_first_not_of('0') == std::string::npos;
        return text.starts_with('-') || is_zero ? "give 1 or more, not " + text : "";
      },
      "");
}

}  // namespace aster::cli
