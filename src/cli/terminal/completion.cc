// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/terminal/completion.h"

#include <algorithm>
#include <set>

namespace aster::cli {
namespace {

std::string CommonBeginning(const std::set<std::string>& texts) {
  const std::string& first = *texts.begin();
  const std::string& last = *texts.rbegin();  // the set is sorted: all others are between them
  const auto [end, ignored] = std::ranges::mismatch(first, last);
  return {first.begin(), end};
}

}  // namespace

Completion Complete(std::string_view typed, std::span<const std::string> candidates) {
  // Up to the end of the current word; the rest is completed later.
  std::set<std::string> matching;
  bool goes_on = false;
  for (const std::string& candidate : candidates) {
    if (!candidate.starts_with(typed)) continue;
    const size_t end = candidate.find(' ', typed.size());
    matching.insert(candidate.substr(0, end));
    goes_on = goes_on || end != std::string::npos;
  }
  Completion completion;
  if (matching.empty()) return completion;
  completion.more = CommonBeginning(matching).substr(typed.size());
  if (matching.size() == 1 && goes_on) completion.more += ' ';
  if (matching.size() > 1) completion.choices.assign(matching.begin(), matching.end());
  return completion;
}

}  // namespace aster::cli
