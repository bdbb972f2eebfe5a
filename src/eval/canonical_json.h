// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// JSON for comparison: two texts have the same value, in the sense of Python's json and ==, exactly
// if their canonical texts are equal. So 1, 1.0 and true are equal, as are objects with another
// order of keys. Must not know what is compared.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aster::eval {

// Deeper nesting counts as invalid JSON; Python stops soon after.
inline constexpr size_t kMaxJsonDepth = 900;

// Nullopt if the text is not JSON. NaN and Infinity are accepted, as in Python.
std::optional<std::string> CanonicalJson(std::string_view text);

// Whether both are JSON with the same value. Never for null, nor for NaN.
bool SameJson(std::string_view a, std::string_view b);

}  // namespace aster::eval
