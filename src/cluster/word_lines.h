// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Small readable, untrusted text files: a first line with the kind of file, then lines of words.
// Must not know what the words mean.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/messages.h"

namespace aster::cluster {

inline constexpr size_t kMaxWordLinesBytes = size_t{1} << 20;

using Words = std::vector<std::string_view>;

// The lines after the first, which must be `heading`. Words are printable ASCII, separated by one
// space each; every line ends with a line end. The words are views into `text`.
Result<std::vector<Words>> ParseWordLines(std::string_view text, std::string_view heading);

// A whole number without sign, in decimal, below 2^63.
Result<uint64_t> ParseNumber(std::string_view word);

// The 32 digits that Hash128::ToHex writes.
Result<Hash128> ParseHash(std::string_view word);

std::string ToHex(Bytes bytes);
Result<std::vector<uint8_t>> ParseHex(std::string_view word);

}  // namespace aster::cluster
