// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/byte_letters.h"

#include <array>
#include <cstdint>

#include "text/unicode.h"

namespace aster::text {
namespace {

constexpr bool IsItsOwnLetter(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
}

constexpr std::array<char16_t, 256> kLetterOfByte = [] {
  std::array<char16_t, 256> letters = {};
  char16_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    letters[byte] = IsItsOwnLetter(byte) ? static_cast<char16_t>(byte) : next++;
  }
  return letters;
}();

constexpr char16_t kLastLetter = 0x100 + 67;

constexpr std::array<int16_t, kLastLetter + 1> kByteOfLetter = [] {
  std::array<int16_t, kLastLetter + 1> bytes = {};
  bytes.fill(-1);
  for (int16_t byte = 0; byte < 256; ++byte) {
    bytes[kLetterOfByte[static_cast<size_t>(byte)]] = byte;
  }
  return bytes;
}();

}  // namespace

std::optional<std::string> BytesOfLetters(std::string_view letters) {
  std::string bytes;
  for (size_t i = 0; i < letters.size();) {
    const Character letter = FirstCharacter(letters.substr(i));
    if (letter.code > kLastLetter || kByteOfLetter[letter.code] < 0) return std::nullopt;
    bytes += static_cast<char>(kByteOfLetter[letter.code]);
    i += letter.size_bytes;
  }
  return bytes;
}

std::string LettersOfBytes(std::string_view bytes) {
  std::string letters;
  for (const char byte : bytes) AppendUtf8(letters, kLetterOfByte[static_cast<uint8_t>(byte)]);
  return letters;
}

}  // namespace aster::text
