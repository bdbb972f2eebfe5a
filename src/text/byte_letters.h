// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Byte-level vocabularies spell every byte as a printable letter: those that are printable in
// Latin-1 as themselves, the rest as U+0100, U+0101 and so on in order. Must not know tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aster::text {

// The bytes that a token's letters stand for; nothing where one stands for no byte.
std::optional<std::string> BytesOfLetters(std::string_view letters);

// The other way round.
std::string LettersOfBytes(std::string_view bytes);

}  // namespace aster::text
