// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/similar.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace aster {
namespace {

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  // Rows of the table of distances between prefixes: two before, one before, the current one.
  std::vector<size_t> before;
  std::vector<size_t> last(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<size_t> row(b.size() + 1, i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({changed, last[j] + 1, row[j - 1] + 1});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, std::move(row));
  }
  return last.back();
}

std::optional<std::string> MostSimilar(std::string_view word,
                                       std::span<const std::string> candidates) {
  // Longer words are not names.
  constexpr size_t kMostLetters = 100;
  if (word.size() > kMostLetters) return std::nullopt;
  const std::string lower = LowerCase(word);
  std::optional<std::string> best;
  size_t least = std::min<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kMostLetters) continue;
    const size_t distance = EditDistance(lower, LowerCase(candidate));
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

}  // namespace aster
