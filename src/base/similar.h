// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The intended word for a mistyped one. Must not know what words are about.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace aster {

// Letters to insert, delete, change or swap with a neighbour to make one word the other.
size_t EditDistance(std::string_view a, std::string_view b);

// The candidate that is nearest to the word, if it is near enough: within two edits, and a third of
// the word's letters. Ignores case.
std::optional<std::string> MostSimilar(std::string_view word,
                                       std::span<const std::string> candidates);

}  // namespace aster
