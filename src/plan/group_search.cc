// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/group_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>

#include "model/group_part.h"

namespace aster::plan {
namespace {

using model::GroupPart;

// All groups of as many nodes are tried; of more, those of the fastest only.
constexpr size_t kExactGroupNodes = 8;
// Shares are small numbers, which people can read: the finest is one of as many.
constexpr uint32_t kMostShares = 24;

// How much of what is divided in `count` equal things a part has.
double ShareOf(const GroupPart& part, uint32_t count) {
  return static_cast<double>(RangeOf(part, count).count()) / count;
}

// In proportion to what each can read in a second.
GroupPart SharesOf(const GroupProblem& problem, std::span<const size_t> nodes, uint32_t all) {
  GroupPart part{.count = static_cast<uint32_t>(nodes.size())};
  double rates = 0;
  for (const size_t node : nodes) rates += 1 / problem.nodes[node].token_byte_s;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const double share = all / problem.nodes[nodes[i]].token_byte_s / rates;
    part.shares[i] = std::max(1u, static_cast<uint32_t>(std::lround(share)));
  }
  return part;
}

// The time of those gathers in which everybody waits for the slowest way between two nodes.
double ExchangeTime(const GroupProblem& problem, std::span<const size_t> nodes,
                    const GroupPart& shares, double tokens) {
  const double all =
      std::accumulate(shares.shares.begin(), shares.shares.begin() + shares.count, 0);
  double slowest_s = 0;
  for (size_t from = 0; from < nodes.size(); ++from) {
    // A node sends its columns to each of the others, one message behind the other.
    const double bytes =
        static_cast<double>(problem.gathered_bytes) * tokens * shares.shares[from] / all;
    double sending_s = 0, message_s = 0;
    for (size_t to = 0; to < nodes.size(); ++to) {
      if (to == from) continue;
      const GroupProblem::Link& link = problem.link(nodes[from], nodes[to]);
      sending_s += bytes * link.byte_s;
      message_s = std::max(message_s, link.message_s + kGatherOverheadS);
    }
    slowest_s = std::max(slowest_s, problem.gathers * message_s + sending_s);
  }
  return slowest_s;
}

GroupPart PartOf(std::span<const uint32_t> shares) {
  GroupPart part{.count = static_cast<uint32_t>(shares.size())};
  std::ranges::copy(shares, part.shares.begin());
  return part;
}

std::optional<GroupAnswer> AnswerOf(const GroupProblem& problem, std::span<const size_t> nodes,
                                    const GroupPart& shares, bool has_memory = false) {
  GroupAnswer answer{.nodes = {nodes.begin(), nodes.end()},
                     .shares = {shares.shares.begin(), shares.shares.begin() + shares.count}};
  const auto all = std::accumulate(answer.shares.begin(), answer.shares.end(), 0u);
  double chunk_s = 0, token_s = 0;
  for (uint32_t i = 0; i < shares.count; ++i) {
    const double heads = ShareOf(shares.At(i), problem.heads);
    if (heads == 0) return std::nullopt;
    const double rows = static_cast<double>(answer.shares[i]) / all;
    const double fine = 1 - problem.whole - problem.by_heads;
    const double of_layers = problem.whole + problem.by_heads * heads + fine * rows;
    const GroupProblem::Node& node = problem.nodes[nodes[i]];
    if (!has_memory &&
        MemberBytes(problem, answer.shares, i) > static_cast<double>(node.memory_bytes))
      return std::nullopt;
    const double reads = of_layers * problem.layer_reads + rows * problem.head_reads;
    token_s = std::max(token_s, reads * node.token_byte_s);
    chunk_s = std::max(chunk_s, of_layers * node.chunk_s);
  }
  answer.exchange_s = ExchangeTime(problem, nodes, shares, /*tokens=*/1);
  answer.token_s = token_s + answer.exchange_s;
  answer.chunk_exchange_s = ExchangeTime(problem, nodes, shares, problem.chunk_tokens);
  answer.chunk_s = chunk_s + answer.chunk_exchange_s;
  return answer;
}

bool AreLinked(const GroupProblem& problem, std::span<const size_t> nodes) {
  for (const size_t from : nodes) {
    for (const size_t to : nodes) {
      if (from != to && problem.link(from, to).message_s <= 0) return false;
    }
  }
  return true;
}

// The best shares for these nodes; of those that are as fast, the smallest numbers.
void Improve(const GroupProblem& problem, std::span<const size_t> nodes,
             std::optional<GroupAnswer>& best) {
  if (!AreLinked(problem, nodes)) return;
  for (auto all = static_cast<uint32_t>(nodes.size()); all <= kMostShares; ++all) {
    // Shares that have a common divisor were tried.
    const GroupPart shares = SharesOf(problem, nodes, all);
    const auto answer = AnswerOf(problem, nodes, shares);
    constexpr double kWorthwhile = 0.999;
    if (answer && (!best || answer->token_s < best->token_s * kWorthwhile)) best = answer;
  }
}

}  // namespace

std::optional<GroupAnswer> SearchShares(const GroupProblem& problem,
                                        std::span<const size_t> nodes) {
  std::optional<GroupAnswer> best;
  Improve(problem, nodes, best);
  return best;
}

std::optional<GroupAnswer> GroupWith(const GroupProblem& problem, std::span<const size_t> nodes,
                                     std::span<const uint32_t> shares) {
  if (!AreLinked(problem, nodes) || problem.heads == 0) return std::nullopt;
  return AnswerOf(problem, nodes, PartOf(shares), /*has_memory=*/true);
}

double MemberBytes(const GroupProblem& problem, std::span<const uint32_t> shares, size_t member) {
  const auto all = std::accumulate(shares.begin(), shares.end(), 0u);
  const double rows = static_cast<double>(shares[member]) / all;
  const auto place = static_cast<uint32_t>(member);
  const double heads = ShareOf(PartOf(shares).At(place), problem.heads);
  return static_cast<double>(problem.whole_bytes) +
         std::max(heads, rows) * static_cast<double>(problem.bytes);
}

std::vector<size_t> BySpeed(const GroupProblem& problem) {
  std::vector<size_t> order(problem.nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](size_t node) { return problem.nodes[node].token_byte_s; });
  return order;
}

std::optional<GroupAnswer> SearchGroup(const GroupProblem& problem) {
  const size_t most =
      std::min({problem.nodes.size(), size_t{GroupPart::kMostParts}, size_t{problem.heads}});
  // The fastest leads.
  const std::vector<size_t> order = BySpeed(problem);
  std::optional<GroupAnswer> best;
  if (order.size() > kExactGroupNodes) {
    for (size_t count = 2; count <= most; ++count)
      Improve(problem, std::span(order).first(count), best);
    return best;
  }
  for (uint32_t chosen = 1; chosen < uint32_t{1} << order.size(); ++chosen) {
    const auto count = static_cast<size_t>(std::popcount(chosen));
    if (count < 2 || count > most) continue;
    std::vector<size_t> nodes;
    for (size_t i = 0; i < order.size(); ++i) {
      if ((chosen >> i & 1) != 0) nodes.push_back(order[i]);
    }
    Improve(problem, nodes, best);
  }
  return best;
}

}  // namespace aster::plan
