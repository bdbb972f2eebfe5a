// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/group_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>

#include "base/random.h"
#include "model/parts/expert_owners.h"
#include "model/parts/group_part.h"
#include "model/shape/shape.h"

namespace aster::plan {
namespace {

using model::GroupPart;

// Up to this number of nodes all groups are tried; with more, only those of the fastest nodes.
constexpr size_t kExactGroupNodes = 8;
// Shares are small numbers, for readability: they add up to this at most.
constexpr uint32_t kMostShares = 24;

// The part's share of something that is divided in `count` equal units.
double ShareOf(const GroupPart& part, uint32_t count) {
  return static_cast<double>(RangeOf(part, count).count()) / count;
}

// Shares in proportion to the nodes' read rates; they add up to about `all`.
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

// The time of all gathers. In each, all nodes wait for the slowest link.
double ExchangeTime(const GroupProblem& problem, std::span<const size_t> nodes,
                    const GroupPart& shares, double tokens) {
  const bool owns = shares.owns_experts;
  const uint32_t gathers = owns ? problem.experts.gathers : problem.gathers;
  const uint64_t columns = owns ? problem.experts.gathered_bytes : problem.gathered_bytes;
  const uint64_t sums = owns ? problem.experts.sum_bytes : 0;
  const double all =
      std::accumulate(shares.shares.begin(), shares.shares.begin() + shares.count, 0);
  double slowest_s = 0;
  for (size_t from = 0; from < nodes.size(); ++from) {
    // A node sends its columns to each of the others, one message after the other.
    const double bytes = tokens * (static_cast<double>(columns) * shares.shares[from] / all +
                                   static_cast<double>(sums));
    double sending_s = 0, message_s = 0;
    for (size_t to = 0; to < nodes.size(); ++to) {
      if (to == from) continue;
      const GroupProblem::Link& link = problem.gather_link(nodes[from], nodes[to]);
      sending_s += bytes * link.byte_s;
      message_s = std::max(message_s, link.message_s + kGatherOverheadS);
    }
    slowest_s = std::max(slowest_s, gathers * message_s + sending_s);
  }
  return slowest_s;
}

GroupPart PartOf(std::span<const uint32_t> shares, const GroupForm& form = {}) {
  GroupPart part{.count = static_cast<uint32_t>(shares.size())};
  std::ranges::copy(shares, part.shares.begin());
  part.owns_experts = form.owns_experts;
  part.replicas = form.replicas;
  return part;
}

// The shape of one layer with such experts.
model::Shape ShapeOf(const GroupProblem::Experts& experts) {
  model::Shape shape;
  shape.layer_count = 1;
  shape.experts.count = experts.count;
  shape.experts.used = experts.used;
  shape.experts.shared = experts.has_shared ? 1 : 0;
  return shape;
}

// The number of a token's experts that each node computes, for tokens with random experts.
class ExpertDraws {
 public:
  ExpertDraws(const GroupProblem::Experts& experts, const GroupPart& part)
      : part_count_(part.count), owners_(part, ShapeOf(experts)), ids_(experts.count) {
    std::iota(ids_.begin(), ids_.end(), 0);
    used_ = experts.used;
    chosen_.resize(owners_.choices());
  }

  // The number of the next token's experts on each node.
  std::span<const double> Next() {
    for (uint32_t i = 0; i < used_; ++i) {
      const uint64_t other = i + random_.NextBelow(ids_.size() - i);
      std::swap(ids_[i], ids_[other]);
    }
    owners_.Assign(0, std::span(ids_).first(used_), chosen_);
    work_.fill(0);
    for (const uint8_t part : chosen_) ++work_[part];
    return std::span(work_).first(part_count_);
  }
  size_t choices() const { return chosen_.size(); }

 private:
  const uint32_t part_count_;
  const model::ExpertOwners owners_;
  std::vector<int32_t> ids_;
  uint32_t used_ = 0;
  std::vector<uint8_t> chosen_;
  std::array<double, GroupPart::kMostParts> work_ = {};
  Random random_{1};
};

// The time of a token through the layers if nodes own experts: in each layer all wait for the node
// with most of the token's experts. `parts` are the nodes' shares of the layers without experts,
// and become those of a chunk, in which the choices of many tokens even out.
double TimeOfOwners(const GroupProblem& problem, std::span<const size_t> nodes,
                    const GroupPart& shares, std::span<double> parts) {
  constexpr int kDraws = 200;
  ExpertDraws draws(problem.experts, shares);
  const double each = problem.experts.reads / static_cast<double>(draws.choices());
  std::array<double, GroupPart::kMostParts> sum = {};
  double token_s = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::span<const double> work = draws.Next();
    double slowest_s = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const double byte_s = problem.nodes[nodes[i]].token_byte_s;
      slowest_s = std::max(slowest_s, (parts[i] + work[i] * each) * byte_s);
      sum[i] += work[i];
    }
    token_s += slowest_s * problem.layer_reads / kDraws;
  }
  for (size_t i = 0; i < nodes.size(); ++i) parts[i] += sum[i] / kDraws * each;
  return token_s;
}

std::optional<GroupAnswer> AnswerOf(const GroupProblem& problem, std::span<const size_t> nodes,
                                    const GroupPart& shares, bool has_memory = false) {
  GroupAnswer answer{.nodes = {nodes.begin(), nodes.end()},
                     .shares = {shares.shares.begin(), shares.shares.begin() + shares.count},
                     .form = {.owns_experts = shares.owns_experts, .replicas = shares.replicas}};
  const auto all = std::accumulate(answer.shares.begin(), answer.shares.end(), 0u);
  const double owned = shares.owns_experts ? problem.experts.reads : 0;
  const double fine = 1 - problem.whole - problem.by_heads - owned;
  std::vector<double> parts;  // of the layers
  double head_s = 0, token_s = 0;
  for (uint32_t i = 0; i < shares.count; ++i) {
    const double heads = ShareOf(shares.At(i), problem.heads);
    if (heads == 0) return std::nullopt;
    const double rows = static_cast<double>(answer.shares[i]) / all;
    const GroupProblem::Node& node = problem.nodes[nodes[i]];
    const double bytes = MemberBytes(problem, answer.shares, answer.form, i);
    if (!has_memory && bytes > static_cast<double>(node.memory_bytes)) return std::nullopt;
    parts.push_back(problem.whole + problem.by_heads * heads + fine * rows);
    const double own_head_s = rows * problem.head_reads * node.token_byte_s;
    head_s = std::max(head_s, own_head_s);
    token_s = std::max(token_s, parts[i] * problem.layer_reads * node.token_byte_s + own_head_s);
  }
  if (shares.owns_experts) token_s = head_s + TimeOfOwners(problem, nodes, shares, parts);
  double chunk_s = 0;
  for (uint32_t i = 0; i < shares.count; ++i)
    chunk_s = std::max(chunk_s, parts[i] * problem.nodes[nodes[i]].chunk_s);
  answer.exchange_s = ExchangeTime(problem, nodes, shares, /*tokens=*/1);
  answer.token_s = token_s + answer.exchange_s;
  answer.chunk_exchange_s = ExchangeTime(problem, nodes, shares, problem.chunk_tokens);
  answer.chunk_s = chunk_s + answer.chunk_exchange_s;
  return answer;
}

bool MayBeTogether(const GroupProblem& problem, std::span<const size_t> nodes) {
  for (const size_t from : nodes) {
    if (!problem.nodes[from].may_divide) return false;
    for (const size_t to : nodes) {
      if (from != to && problem.link(from, to).message_s <= 0) return false;
    }
  }
  return true;
}

// The best shares for these nodes; of equally fast ones, the smallest numbers.
void Improve(const GroupProblem& problem, std::span<const size_t> nodes,
             std::optional<GroupAnswer>& best) {
  if (!MayBeTogether(problem, nodes)) return;
  for (auto all = static_cast<uint32_t>(nodes.size()); all <= kMostShares; ++all) {
    // Shares with a common divisor were tried before.
    const GroupPart shares = SharesOf(problem, nodes, all);
    const auto answer = AnswerOf(problem, nodes, shares);
    // Measured rates vary by more between measurements; with other shares, weights would have to be
    // loaded again.
    constexpr double kWorthwhile = 0.97;
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

std::optional<GroupAnswer> SearchOwners(const GroupProblem& problem, std::span<const size_t> nodes,
                                        std::span<const uint32_t> shares) {
  const uint32_t count = problem.experts.count;
  if (count == 0 || !MayBeTogether(problem, nodes)) return std::nullopt;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const bool has_any = RangeOf(PartOf(shares).At(static_cast<uint32_t>(i)), count).count() > 0;
    if (!has_any || !problem.nodes[nodes[i]].may_own_experts) return std::nullopt;
  }
  std::optional<GroupAnswer> best;
  for (const uint32_t part : {0u, 8u, 4u, 2u}) {
    const GroupForm form{.owns_experts = true, .replicas = part == 0 ? 0 : count / part};
    const auto answer = AnswerOf(problem, nodes, PartOf(shares, form));
    // Experts on all nodes take memory.
    constexpr double kWorthwhile = 0.98;
    if (answer && (!best || answer->token_s < best->token_s * kWorthwhile)) best = answer;
  }
  return best;
}

std::optional<GroupAnswer> GroupWith(const GroupProblem& problem, std::span<const size_t> nodes,
                                     std::span<const uint32_t> shares, const GroupForm& form) {
  if (!MayBeTogether(problem, nodes) || problem.heads == 0) return std::nullopt;
  if (form.owns_experts && problem.experts.count == 0) return std::nullopt;
  return AnswerOf(problem, nodes, PartOf(shares, form), /*has_memory=*/true);
}

void CorrectGathers(const SeenGathers& seen, GroupProblem& problem) {
  const size_t count = seen.nodes.size();
  if (count < 2 || seen.rows < 2 || seen.frame_s <= 0 || seen.layers <= 0) return;
  const double gathers = problem.gathers * seen.layers;
  const double columns = static_cast<double>(problem.gathered_bytes) * seen.layers;
  const double bytes =
      columns * *std::ranges::max_element(seen.parts) * static_cast<double>(count - 1);
  // The average of the predicted times.
  GroupProblem::Link mean;
  for (const size_t from : seen.nodes) {
    for (const size_t to : seen.nodes) {
      if (from == to) continue;
      mean.message_s += problem.link(from, to).message_s + kGatherOverheadS;
      mean.byte_s += problem.link(from, to).byte_s;
    }
  }
  const double ways = static_cast<double>(count * (count - 1));
  mean.message_s /= ways;
  mean.byte_s /= ways;
  if (gathers <= 0 || bytes <= 0 || mean.byte_s <= 0) return;
  constexpr double kMostFactor = 30;
  const auto near = [](double value, double expected) {
    return std::clamp(value, expected / kMostFactor, expected * kMostFactor);
  };
  const double token_s =
      seen.token_s > 0 ? seen.token_s : gathers * mean.message_s + bytes * mean.byte_s;
  const double row_s = std::max(seen.frame_s - token_s, 0.0) / (seen.rows - 1);
  GroupProblem::Link link;
  link.byte_s = near(row_s / bytes, mean.byte_s);
  link.message_s = near((token_s - bytes * link.byte_s) / gathers, mean.message_s);
  // GroupProblem adds it to each message.
  link.message_s = std::max(link.message_s - kGatherOverheadS, 1e-9);
  for (const size_t from : seen.nodes) {
    for (const size_t to : seen.nodes) {
      if (from != to) problem.seen_links[{from, to}] = link;
    }
  }
}

uint64_t BytesOfMember(const GroupMemory& memory, std::span<const uint32_t> shares,
                       const GroupForm& form, size_t member, uint32_t begin, uint32_t end) {
  return memory.Of(PartOf(shares, form).At(static_cast<uint32_t>(member)), begin, end);
}

double MemberBytes(const GroupProblem& problem, std::span<const uint32_t> shares,
                   const GroupForm& form, size_t member) {
  if (problem.memory != nullptr) {
    const uint32_t layers = problem.memory->layer_count();
    return static_cast<double>(BytesOfMember(*problem.memory, shares, form, member, 0, layers) +
                               problem.reserved_bytes);
  }
  const auto all = std::accumulate(shares.begin(), shares.end(), 0u);
  const double rows = static_cast<double>(shares[member]) / all;
  const GroupPart part = PartOf(shares, form).At(static_cast<uint32_t>(member));
  const double divided = std::max(ShareOf(part, problem.heads), rows);
  const auto whole = static_cast<double>(problem.whole_bytes);
  if (!form.owns_experts) return whole + divided * static_cast<double>(problem.bytes);
  const GroupProblem::Experts& experts = problem.experts;
  const double own = static_cast<double>(ExpertsOf(part, ShapeOf(experts), 0).size());
  const uint64_t others =
      problem.bytes - std::min(problem.bytes, experts.bytes + experts.shared_bytes);
  return whole + static_cast<double>(experts.shared_bytes) + divided * static_cast<double>(others) +
         own / experts.count * static_cast<double>(experts.bytes);
}

std::vector<size_t> BySpeed(const GroupProblem& problem) {
  std::vector<size_t> order(problem.nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](size_t node) { return problem.nodes[node].token_byte_s; });
  return order;
}

std::optional<GroupAnswer> SearchGroup(const GroupProblem& problem) {
  // The fastest node leads.
  std::vector<size_t> order = BySpeed(problem);
  std::erase_if(order, [&](size_t node) { return !problem.nodes[node].may_divide; });
  const size_t most =
      std::min({order.size(), size_t{GroupPart::kMostParts}, size_t{problem.heads}});
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
