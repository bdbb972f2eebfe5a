// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Byte-level vocabularies write every byte as a printable letter: bytes that are printable in
// Latin-1 as themselves, the rest as U+0100, U+0101 and so on in order. Must not know tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aster::text {

// The bytes of a token's letters; nothing if one of them is not a byte's letter.
std::optional<std::string> BytesOfLetters(std::string_view letters);

// The reverse.
std::string LettersOfBytes(std::string_view bytes);

}  // namespace aster::text
