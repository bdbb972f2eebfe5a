// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/percent.h"

#include <charconv>
#include <cstdint>

namespace aster {

std::string WithoutPercents(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    uint8_t byte = 0;
    const char* const digits = text.data() + i + 1;
    const bool is_escaped = text[i] == '%' && text.size() - i > 2 &&
                            std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    plain += is_escaped ? static_cast<char>(byte) : text[i];
    if (is_escaped) i += 2;
  }
  return plain;
}

}  // namespace aster
