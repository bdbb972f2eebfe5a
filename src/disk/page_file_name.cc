// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "disk/page_file_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace aster::disk {
namespace {

constexpr std::string_view kEnding = ".rows";
constexpr size_t kHexDigits = 32;
// The numbers in a name, of whole rows and of parts of them.
constexpr size_t kNumbers = 6;
constexpr size_t kNumbersOfParts = 9;

template <typename T>
bool ParseNumber(std::string_view text, int base, T& value) {
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value, base);
  return error == std::errc() && end == text.end();
}

}  // namespace

std::optional<Hash128> ParseHash(std::string_view hex) {
  Hash128 hash;
  if (hex.size() != kHexDigits || !ParseNumber(hex.substr(0, kHexDigits / 2), 16, hash.high) ||
      !ParseNumber(hex.substr(kHexDigits / 2), 16, hash.low)) {
    return std::nullopt;
  }
  return hash;
}

std::string PageFileName::ToText() const {
  const std::string part =
      columns.is_whole() ? "" : fmt::format("-{}-{}-{}", columns.begin, columns.end, columns.count);
  return fmt::format("{}-{}-{}-{}-{}-{}{}{}", prefix_at_end.ToHex(), prefix_at_begin.ToHex(), begin,
                     end, layers.begin, layers.end, part, kEnding);
}

std::optional<PageFileName> PageFileName::Parse(std::string_view text) {
  const std::string_view whole = text;
  if (!text.ends_with(kEnding)) return std::nullopt;
  text.remove_suffix(kEnding.size());
  std::array<std::string_view, kNumbersOfParts> parts;
  const bool is_part = std::ranges::count(text, '-') >= static_cast<ptrdiff_t>(kNumbers);
  const size_t count = is_part ? kNumbersOfParts : kNumbers;
  for (size_t i = 0; i < count; ++i) {
    const size_t dash = i + 1 < count ? text.find('-') : text.size();
    if (dash == std::string_view::npos) return std::nullopt;
    parts[i] = text.substr(0, dash);
    text.remove_prefix(std::min(dash + 1, text.size()));
  }
  const auto at_end = ParseHash(parts[0]);
  const auto at_begin = ParseHash(parts[1]);
  if (!at_end || !at_begin) return std::nullopt;
  PageFileName name{.prefix_at_end = *at_end, .prefix_at_begin = *at_begin, .layers = {}};
  if (!ParseNumber(parts[2], 10, name.begin) || !ParseNumber(parts[3], 10, name.end) ||
      !ParseNumber(parts[4], 10, name.layers.begin) ||
      !ParseNumber(parts[5], 10, name.layers.end)) {
    return std::nullopt;
  }
  kv::Columns& columns = name.columns;
  if (is_part &&
      (!ParseNumber(parts[6], 10, columns.begin) || !ParseNumber(parts[7], 10, columns.end) ||
       !ParseNumber(parts[8], 10, columns.count) || !kv::IsPartOfRow(columns))) {
    return std::nullopt;
  }
  // A file has one valid name: no leading zeros, no capitals.
  const bool makes_sense =
      name.begin < name.end && name.end <= kv::kMaxPositions && name.layers.begin < name.layers.end;
  if (!makes_sense || name.ToText() != whole) return std::nullopt;
  return name;
}

}  // namespace aster::disk
