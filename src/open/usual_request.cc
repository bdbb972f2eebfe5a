// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/usual_request.h"

#include <algorithm>
#include <cstddef>

namespace aster::open {
namespace {

constexpr size_t kFewest = 3;
constexpr size_t kNewest = 12;
// Of the last ones, that ran beside others: a second question that comes a moment early is no load.
constexpr double kMostBesideOthers = 0.25;

}  // namespace

std::optional<ExpectedRequest> UsualRequest(std::span<const conduct::Foreseen> last) {
  if (last.size() < kFewest) return std::nullopt;
  last = last.last(std::min(last.size(), kNewest));
  const auto count = static_cast<double>(last.size());
  double prompts = 0, answers = 0;
  for (const conduct::Foreseen& request : last) {
    prompts += request.prompt_tokens / count;
    answers += static_cast<double>(request.answer_tokens) / count;
  }
  const auto beside = static_cast<double>(std::ranges::count_if(
      last, [](const conduct::Foreseen& request) { return request.others > 0; }));
  if (beside > kMostBesideOthers * count) return std::nullopt;
  constexpr double kMost = 1 << 24;
  return ExpectedRequest{.prompt_tokens = static_cast<uint32_t>(std::clamp(prompts, 1.0, kMost)),
                         .answer_tokens = static_cast<uint32_t>(std::clamp(answers, 1.0, kMost))};
}

}  // namespace aster::open
