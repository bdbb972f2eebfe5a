// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/usual_request.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace aster::open {
namespace {

constexpr size_t kFewest = 3;
constexpr size_t kNewest = 12;
// The most of the last requests that may have run beside others: a second question that comes a
// moment early is not concurrent load.
constexpr double kMostBesideOthers = 0.25;
constexpr uint64_t kMostTokens = 1 << 24;
// Up to this ratio of the longest prompt to the shortest, one plan suits all as it suits their
// mean.
constexpr uint32_t kAlike = 2;

uint32_t TokensOf(uint64_t tokens) {
  return static_cast<uint32_t>(std::clamp(tokens, uint64_t{1}, kMostTokens));
}

}  // namespace

std::vector<ExpectedRequest> UsualRequests(std::span<const conduct::RequestForecast> last) {
  if (last.size() < kFewest) return {};
  last = last.last(std::min(last.size(), kNewest));
  const auto beside = static_cast<double>(std::ranges::count_if(
      last, [](const conduct::RequestForecast& request) { return request.others > 0; }));
  if (beside > kMostBesideOthers * static_cast<double>(last.size())) return {};
  std::vector<ExpectedRequest> requests;
  for (const conduct::RequestForecast& request : last) {
    requests.push_back({.prompt_tokens = TokensOf(request.prompt_tokens),
                        .answer_tokens = TokensOf(request.answer_tokens)});
  }
  return requests;
}

ExpectedRequest MeanOf(std::span<const ExpectedRequest> requests) {
  double prompts = 0, answers = 0;
  const auto count = static_cast<double>(requests.size());
  for (const ExpectedRequest& request : requests) {
    prompts += request.prompt_tokens / count;
    answers += request.answer_tokens / count;
  }
  return {.prompt_tokens = TokensOf(static_cast<uint64_t>(std::llround(prompts))),
          .answer_tokens = TokensOf(static_cast<uint64_t>(std::llround(answers)))};
}

std::vector<ExpectedRequest> Summarise(std::vector<ExpectedRequest> requests, size_t most) {
  if (requests.empty()) return {};
  std::ranges::stable_sort(requests, {}, &ExpectedRequest::prompt_tokens);
  if (requests.back().prompt_tokens <= kAlike * requests.front().prompt_tokens)
    return {MeanOf(requests)};
  const size_t count = std::min(most, requests.size());
  std::vector<ExpectedRequest> means;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i * requests.size() / count, end = (i + 1) * requests.size() / count;
    means.push_back(MeanOf(std::span(requests).subspan(begin, end - begin)));
  }
  return means;
}

}  // namespace aster::open
