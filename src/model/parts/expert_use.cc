// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/parts/expert_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "model/parts/group_part.h"

namespace aster::model {
namespace {

// Followed by the numbers of layers and of experts.
constexpr std::string_view kHead = "experts chosen";
constexpr uint64_t kMostNumbers = 1 << 20;

// Numbers, separated by single spaces or line ends.
Result<std::vector<uint64_t>> ParseNumbers(std::string_view text) {
  std::vector<uint64_t> numbers;
  while (!text.empty()) {
    uint64_t& number = numbers.emplace_back();
    const char* const end = text.data() + text.size();
    const auto [behind, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || behind == end || (*behind != ' ' && *behind != '\n'))
      return DataLoss("something else where a count should be");
    text.remove_prefix(static_cast<size_t>(behind - text.data()) + 1);
  }
  return numbers;
}

}  // namespace

void ExpertUse::Add(uint32_t layer, std::span<const int32_t> ids) {
  const auto counts = std::span(counts_).subspan(size_t{layer} * experts_, experts_);
  for (const int32_t id : ids)
    counts[static_cast<size_t>(id)].fetch_add(1, std::memory_order_relaxed);
}

uint64_t ExpertUse::choices() const {
  uint64_t all = 0;
  for (const std::atomic<uint64_t>& count : counts_) all += count.load(std::memory_order_relaxed);
  return all;
}

std::vector<uint16_t> ExpertUse::MostUsed(uint32_t count) const {
  count = std::min(count, experts_);
  // These come first among equals, so they are chosen if nothing was counted.
  const std::vector<uint16_t> even = EvenlySpaced(count, experts_);
  std::vector<uint16_t> all;
  for (uint32_t layer = 0; layer < layers(); ++layer) {
    std::vector<uint64_t> counts;
    for (uint32_t id = 0; id < experts_; ++id)
      counts.push_back(counts_[size_t{layer} * experts_ + id].load(std::memory_order_relaxed));
    std::vector<uint16_t> order = even;
    for (uint32_t id = 0; id < experts_; ++id) {
      if (!std::ranges::binary_search(even, id)) order.push_back(static_cast<uint16_t>(id));
    }
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](uint16_t id) { return counts[id]; });
    order.resize(count);
    std::ranges::sort(order);
    all.insert(all.end(), order.begin(), order.end());
  }
  return all;
}

std::string ExpertUse::ToText() const {
  std::string text = fmt::format("{} {} {}\n", kHead, layers(), experts_);
  for (size_t i = 0; i < counts_.size(); ++i) {
    text += fmt::format("{}{}", counts_[i].load(std::memory_order_relaxed),
                        (i + 1) % experts_ == 0 ? '\n' : ' ');
  }
  return text;
}

Result<std::unique_ptr<ExpertUse>> ExpertUse::Parse(std::string_view text) {
  if (!text.starts_with(kHead) || text.size() == kHead.size())
    return DataLoss("these are no counts of experts");
  const std::vector<uint64_t> numbers = TRY(ParseNumbers(text.substr(kHead.size() + 1)));
  if (numbers.size() < 2) return DataLoss("the counts of experts were cut off");
  const uint64_t layers = numbers[0], experts = numbers[1];
  const auto counts = std::span(numbers).subspan(2);
  if (layers == 0 || experts == 0 || layers > kMostNumbers || experts > kMostNumbers ||
      counts.size() != layers * experts) {
    return DataLoss(
        fmt::format("{} counts of {} experts in {} layers", counts.size(), experts, layers));
  }
  auto use =
      std::make_unique<ExpertUse>(static_cast<uint32_t>(layers), static_cast<uint32_t>(experts));
  for (size_t i = 0; i < counts.size(); ++i)
    use->counts_[i].store(counts[i], std::memory_order_relaxed);
  return use;
}

}  // namespace aster::model
