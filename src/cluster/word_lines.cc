// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/word_lines.h"

#include <fmt/format.h>

#include <algorithm>

namespace aster::cluster {
namespace {

Result<Words> SplitWords(std::string_view line) {
  Words words;
  while (true) {
    const size_t space = line.find(' ');
    const std::string_view word = line.substr(0, space);
    const bool is_plain = std::ranges::all_of(word, [](char c) { return c > ' ' && c <= '~'; });
    if (word.empty() || !is_plain) return DataLoss("a line that is not words with single spaces");
    words.push_back(word);
    if (space == std::string_view::npos) return words;
    line.remove_prefix(space + 1);
  }
}

template <typename T>
Result<T> ParseDigits(std::string_view word, int base) {
  T value = 0;
  const auto [end, error] = std::from_chars(word.begin(), word.end(), value, base);
  if (error != std::errc() || end != word.end()) return DataLoss("a number is damaged");
  return value;
}

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

Result<std::vector<Words>> ParseWordLines(std::string_view text, std::string_view heading) {
  if (text.size() > kMaxWordLinesBytes) return DataLoss("too long for such a file");
  std::vector<Words> lines;
  bool is_first = true;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return DataLoss("the last line is cut off");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (is_first && line != heading)
      return DataLoss(fmt::format("the first line is not \"{}\"", heading));
    if (!is_first) lines.push_back(TRY(SplitWords(line)));
    is_first = false;
  }
  if (is_first) return DataLoss("empty");
  return lines;
}

Result<uint64_t> ParseNumber(std::string_view word) {
  const uint64_t value = TRY(ParseDigits<uint64_t>(word, 10));
  if (value >> 63 != 0) return DataLoss("a number is out of range");
  return value;
}

Result<Hash128> ParseHash(std::string_view word) {
  const std::vector<uint8_t> bytes = TRY(ParseHex(word));
  if (bytes.size() != 16) return DataLoss("a hash has 32 digits");
  return Hash128{.low = TRY(ParseDigits<uint64_t>(word.substr(16), 16)),
                 .high = TRY(ParseDigits<uint64_t>(word.substr(0, 16), 16))};
}

std::string ToHex(Bytes bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

Result<std::vector<uint8_t>> ParseHex(std::string_view word) {
  if (word.size() % 2 != 0) return DataLoss("an odd number of hexadecimal digits");
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < word.size(); i += 2) {
    const int high = DigitOf(word[i]);
    const int low = DigitOf(word[i + 1]);
    if (high < 0 || low < 0) return DataLoss("not a hexadecimal digit");
    bytes.push_back(static_cast<uint8_t>(high * 16 + low));
  }
  return bytes;
}

}  // namespace aster::cluster
