// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/split_name.h"

#include <fmt/format.h>

#include <charconv>

namespace aster::gguf {
namespace {

constexpr size_t kDigits = 5;

// Removes `text` from the end.
bool TakeText(std::string_view& path, std::string_view text) {
  if (!path.ends_with(text)) return false;
  path.remove_suffix(text.size());
  return true;
}

std::optional<uint32_t> TakeNumber(std::string_view& path) {
  if (path.size() < kDigits) return std::nullopt;
  const std::string_view digits = path.substr(path.size() - kDigits);
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  if (error != std::errc() || end != digits.end()) return std::nullopt;
  path.remove_suffix(kDigits);
  return number;
}

}  // namespace

std::optional<SplitName> ParseSplitPath(std::string_view path) {
  if (!TakeText(path, ".gguf")) return std::nullopt;
  const std::optional<uint32_t> count = TakeNumber(path);
  if (!count || !TakeText(path, "-of-")) return std::nullopt;
  const std::optional<uint32_t> number = TakeNumber(path);
  if (!number || !TakeText(path, "-")) return std::nullopt;
  if (*number == 0 || *number > *count) return std::nullopt;
  return SplitName{.prefix = std::string(path), .index = *number - 1, .count = *count};
}

std::string SplitPath(std::string_view prefix, uint32_t index, uint32_t count) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, index + 1, count);
}

}  // namespace aster::gguf
