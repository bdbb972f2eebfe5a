// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/utf8.h"

#include <cstddef>
#include <cstdint>

namespace aster::gguf {
namespace {

// A lead byte's sequence: how many bytes follow, and what the first of them may be, which rules
// out overlong forms, surrogates and numbers that are too large.
struct Sequence {
  size_t following;
  uint8_t first_min = 0x80;
  uint8_t first_max = 0xBF;
};

bool FindSequence(uint8_t lead, Sequence& sequence) {
  if (lead < 0x80) {
    sequence = {.following = 0};
  } else if (lead >= 0xC2 && lead <= 0xDF) {
    sequence = {.following = 1};
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    sequence = {.following = 2,
                .first_min = static_cast<uint8_t>(lead == 0xE0 ? 0xA0 : 0x80),
                .first_max = static_cast<uint8_t>(lead == 0xED ? 0x9F : 0xBF)};
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    sequence = {.following = 3,
                .first_min = static_cast<uint8_t>(lead == 0xF0 ? 0x90 : 0x80),
                .first_max = static_cast<uint8_t>(lead == 0xF4 ? 0x8F : 0xBF)};
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    Sequence sequence{};
    if (!FindSequence(static_cast<uint8_t>(text[i]), sequence)) return false;
    for (size_t j = 0; j < sequence.following; ++j) {
      if (++i == text.size()) return false;
      const auto byte = static_cast<uint8_t>(text[i]);
      const uint8_t least = j == 0 ? sequence.first_min : 0x80;
      const uint8_t most = j == 0 ? sequence.first_max : 0xBF;
      if (byte < least || byte > most) return false;
    }
  }
  return true;
}

}  // namespace aster::gguf
