// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The cases that bench/in_turns.py has engines measure. This header includes nothing of the
// project, because programs of peers include it, too.
//
//   pp:N@D    a prompt of N tokens behind D others
//   tg:N@D    N tokens, one by one, behind D; the median of their times
//   bt:B:N@D  the same for B sequences at once
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace rates {

// Each engine draws this many random tokens.
inline constexpr size_t kMaxTokens = 70000;

struct Case {
  bool is_prompt = false;
  size_t batch = 1;
  size_t count = 0;
  size_t depth = 0;
};

// Takes a number and, unless the text ends there, the character behind it.
inline bool TakeNumber(std::string_view& text, char behind, size_t& value) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(stop - text.data()));
  if (behind == 0) return text.empty();
  if (text.empty() || text.front() != behind) return false;
  text.remove_prefix(1);
  return true;
}

inline std::optional<Case> ParseCase(std::string_view text) {
  Case parsed;
  const std::string_view kind = text.substr(0, 3);
  if (kind != "pp:" && kind != "tg:" && kind != "bt:") return std::nullopt;
  text.remove_prefix(3);
  parsed.is_prompt = kind == "pp:";
  if (kind == "bt:" && !TakeNumber(text, ':', parsed.batch)) return std::nullopt;
  if (!TakeNumber(text, '@', parsed.count) || !TakeNumber(text, 0, parsed.depth)) {
    return std::nullopt;
  }
  const bool fits = parsed.count > 0 && parsed.count <= kMaxTokens && parsed.batch > 0 &&
                    parsed.batch <= 32 && parsed.depth <= kMaxTokens &&
                    parsed.depth + parsed.count * parsed.batch < kMaxTokens;
  return fits ? std::optional(parsed) : std::nullopt;
}

}  // namespace rates
