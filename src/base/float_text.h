// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Floating-point numbers in text, as std::from_chars reads them, which not every standard library
// supports yet (libc++ 20 is the first).
#pragma once

#include <charconv>

namespace aster {

std::from_chars_result FloatFromChars(const char* begin, const char* end, double& value,
                                      std::chars_format format = std::chars_format::general);
std::from_chars_result FloatFromChars(const char* begin, const char* end, float& value,
                                      std::chars_format format = std::chars_format::general);

}  // namespace aster
