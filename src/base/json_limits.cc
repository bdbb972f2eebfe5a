// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/json_limits.h"

#include <fmt/format.h>

#include <array>

namespace aster {

Status JsonLimits::Check(std::string_view text) {
  // The commas of each open object or list.
  std::array<uint64_t, kMaxDepth + 1> commas = {};
  std::array<bool, kMaxDepth + 1> is_object = {};
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth)
        return InvalidArgument(fmt::format("more than {} values within each other", kMaxDepth));
      commas[depth] = 0;
      is_object[depth] = c == '{';
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    } else if (c == ',' && is_object[depth]) {
      const uint64_t members = ++commas[depth];
      if (members > comparisons_left_) return InvalidArgument("objects with too many members");
      comparisons_left_ -= members;
    }
  }
  return Ok();
}

}  // namespace aster
