// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// JSON for comparing: two texts stand for the same value, as Python's json and == see it, exactly
// if their canonical texts are the same. So 1, 1.0 and true are equal, as are objects whose keys
// come in another order. Must not know what is compared.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aster::eval {

// Deeper nesting is taken for no JSON; Python gives up soon after.
inline constexpr size_t kMaxJsonDepth = 900;

// Nothing where the text is no JSON. NaN and Infinity are, as in Python.
std::optional<std::string> CanonicalJson(std::string_view text);

// Whether both are JSON and the same value. Never for null, which says nothing, nor for NaN.
bool SameJson(std::string_view a, std::string_view b);

}  // namespace aster::eval
