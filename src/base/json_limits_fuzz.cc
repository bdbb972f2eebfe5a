// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any text is scanned to its end, and an accepted one is never too deep.
#include "base/json_limits.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  aster::JsonLimits limits;
  const bool fits = limits.Check(text).ok();
  // Without strings and closing brackets, every opening one is a level deeper.
  const auto opened = std::ranges::count_if(text, [](char c) { return c == '[' || c == '{'; });
  const bool is_plain = text.find_first_of("\"]}") == std::string_view::npos;
  if (is_plain && opened > static_cast<ptrdiff_t>(aster::JsonLimits::kMaxDepth)) CHECK(!fits);
  return 0;
}
