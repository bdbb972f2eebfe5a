// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Common to string methods and filters: stripping, splitting and replacing text by code points.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/runtime.h"

namespace aster::jinja {

enum class Side : uint8_t { kLeft, kRight, kBoth };

// Without the characters of `characters` (absent: white space) at the ends.
std::string_view Strip(std::string_view text, Side side,
                       std::optional<std::string_view> characters = std::nullopt);

// Python's splitlines(): not only \n ends a line.
std::vector<std::string_view> SplitLines(std::string_view text, bool keep_ends = false);

// At most `count` times; negative: no limit.
Result<std::string> Replace(Runtime& runtime, std::string_view text, std::string_view from,
                            std::string_view to, int64_t count);

}  // namespace aster::jinja
