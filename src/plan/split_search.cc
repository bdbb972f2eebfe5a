// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/split_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace aster::plan {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Times that differ by less than this are equal: the faster single token decides.
constexpr double kSame = 1e-9;
// The number of orders of six different nodes; more are not tried one by one.
constexpr size_t kMostOrders = 1957;
// Cells of the table that finds the fastest token; for larger problems, any split of the best rate
// is taken.
constexpr uint64_t kMostCells = 50'000'000;
// If not all orders can be tried: the number of changes of the best one. One that is good enough
// for a full evaluation counts as many; in the largest problems steps count less.
constexpr uint64_t kMostChanges = 6000;
constexpr uint64_t kCostOfWhole = 20;
constexpr uint64_t kMostSteps = 60'000'000;

bool IsLess(double a, double b) { return a < b * (1 - kSame); }

// Nodes in one order, each with a part.
class Chain {
 public:
  Chain(const SplitProblem& problem, std::span<const size_t> order)
      : problem_(problem), order_(order), layers_(problem.layer_count()) {}

  // Whether every part, and every link between parts, can take at most this time.
  bool IsFeasible(double chunk_s) {
    if (order_.size() > layers_) return false;
    reached_.assign(order_.size() + 1, std::vector<bool>(layers_ + 1, false));
    reached_[0][0] = true;
    for (size_t stage = 0; stage < order_.size(); ++stage) {
      if (stage > 0 && LinkBefore(stage).chunk_s > chunk_s) return false;
      // Marks the ends in [begin + 1, most]; later begins do not have lower ends.
      uint32_t marked = 0;
      bool has_end = false;
      for (uint32_t begin = 0; begin < layers_; ++begin) {
        if (!reached_[stage][begin]) continue;
        const uint32_t most = MostEnd(stage, begin, chunk_s);
        if (IsLast(stage)) {
          if (most == layers_) return reached_[stage + 1][layers_] = true;
          continue;
        }
        has_end = has_end || most > begin;
        for (uint32_t end = std::max(begin, marked) + 1; end <= most; ++end) {
          reached_[stage + 1][end] = problem_.MayBegin(end);
        }
        marked = std::max(marked, most);
      }
      if (!has_end && !IsLast(stage)) return false;
    }
    return reached_[order_.size()][layers_];
  }

  // The least feasible time, up to most_s.
  double LeastChunk(double most_s = kNever) {
    // The slowest stage or link sets the rate: one of these times is the answer.
    std::vector<double> candidates;
    const auto add = [&](double chunk_s) {
      if (chunk_s <= most_s) candidates.push_back(chunk_s);
    };
    for (size_t stage = 0; stage < order_.size(); ++stage) {
      if (stage > 0) add(LinkBefore(stage).chunk_s);
      for (uint32_t count = 1; count <= layers_; ++count) add(ChunkTime(stage, count));
    }
    std::ranges::sort(candidates);
    // If a time is feasible, so is any longer one.
    const auto found = std::ranges::partition_point(
        candidates, [&](double chunk_s) { return !IsFeasible(chunk_s); });
    return found == candidates.end() ? kNever : *found;
  }

  // The split with the fastest token within this time, which must be feasible.
  SplitAnswer FastestToken(double chunk_s) {
    CHECK(IsFeasible(chunk_s));
    // Reads the stages' begins from the last to the first: from the table of the best ones if that
    // is small enough, otherwise any feasible begin.
    const size_t stages = order_.size();
    SplitAnswer answer{.parts = std::vector<SplitAnswer::Part>(stages)};
    const bool is_small = uint64_t{layers_} * layers_ * stages <= kMostCells;
    if (is_small) FillTokens(chunk_s);
    uint32_t end = layers_;
    for (size_t stage = stages; stage-- > 0;) {
      const uint32_t begin = is_small ? best_begin_[stage][end] : AnyBegin(stage, end, chunk_s);
      answer.parts[stage] = {.node = order_[stage], .begin = begin, .end = end};
      answer.token_s += TokenTime(stage, begin, end);
      answer.chunk_s = std::max(answer.chunk_s, ChunkTime(stage, end - begin));
      if (stage > 0) answer.chunk_s = std::max(answer.chunk_s, LinkBefore(stage).chunk_s);
      end = begin;
    }
    return answer;
  }

 private:
  const SplitProblem::Node& NodeAt(size_t stage) const { return problem_.nodes[order_[stage]]; }
  const SplitProblem::Link& LinkBefore(size_t stage) const {
    return problem_.link(order_[stage - 1], order_[stage]);
  }
  bool IsLast(size_t stage) const { return stage + 1 == order_.size(); }

  double ChunkTime(size_t stage, uint32_t count) const {
    return PartChunkTime(NodeAt(stage), count, IsLast(stage));
  }
  double TokenTime(size_t stage, uint32_t begin, uint32_t end) const {
    return PartTokenTime(problem_, NodeAt(stage), begin, end) +
           (stage > 0 ? LinkBefore(stage).token_s : 0);
  }

  bool Fits(size_t stage, uint32_t begin, uint32_t end) const {
    return PartMemory(problem_, NodeAt(stage), begin, end) <= NodeAt(stage).memory_bytes;
  }

  bool IsWithin(size_t stage, uint32_t begin, uint32_t end, double chunk_s) const {
    return ChunkTime(stage, end - begin) <= chunk_s && Fits(stage, begin, end);
  }

  // The last possible end of a part that begins there; `begin` itself if no layer fits. The last
  // stage must reach the end, the others leave a layer to each stage after them.
  uint32_t MostEnd(size_t stage, uint32_t begin, double chunk_s) const {
    const auto room = static_cast<uint32_t>(order_.size() - 1 - stage);
    if (begin + room >= layers_) return begin;
    const auto ends = std::views::iota(begin + 1, layers_ - room + 1);
    const auto beyond = std::ranges::partition_point(
        ends, [&](uint32_t end) { return IsWithin(stage, begin, end, chunk_s); });
    return begin + static_cast<uint32_t>(beyond - ends.begin());
  }

  void FillTokens(double chunk_s) {
    // Dynamic programming over stages: the shortest time in which a token passes the first `end`
    // layers.
    best_begin_.assign(order_.size(), std::vector<uint32_t>(layers_ + 1, 0));
    std::vector<double> before(layers_ + 1, kNever);
    before[0] = 0;
    for (size_t stage = 0; stage < order_.size(); ++stage) {
      std::vector<double> after(layers_ + 1, kNever);
      for (uint32_t begin = 0; begin < layers_; ++begin) {
        if (before[begin] == kNever) continue;
        const uint32_t most = MostEnd(stage, begin, chunk_s);
        for (uint32_t end = IsLast(stage) ? layers_ : begin + 1; end <= most; ++end) {
          if (end < layers_ && !problem_.MayBegin(end)) continue;
          const double token_s = before[begin] + TokenTime(stage, begin, end);
          if (token_s >= after[end]) continue;
          after[end] = token_s;
          best_begin_[stage][end] = begin;
        }
      }
      before = std::move(after);
    }
  }

  uint32_t AnyBegin(size_t stage, uint32_t end, double chunk_s) const {
    uint32_t begin = end - 1;
    while (!reached_[stage][begin] || !IsWithin(stage, begin, end, chunk_s)) {
      CHECK(begin > 0);
      --begin;
    }
    return begin;
  }

  const SplitProblem& problem_;
  const std::span<const size_t> order_;
  const uint32_t layers_;
  std::vector<std::vector<bool>> reached_;         // [stages + 1][layers + 1]: ends of parts
  std::vector<std::vector<uint32_t>> best_begin_;  // [stages][layers + 1]
};

// Keeps the best of all orders that are tried.
class Best {
 public:
  explicit Best(const SplitProblem& problem) : problem_(problem) {}

  // Returns whether the order was good enough for a full evaluation.
  bool Try(std::span<const size_t> order) {
    // An order that cannot reach the best rate so far is skipped.
    Chain chain(problem_, order);
    const double most_s = answer_ ? answer_->chunk_s * (1 + kSame) : kNever;
    if (!chain.IsFeasible(most_s)) return false;
    const SplitAnswer answer = chain.FastestToken(chain.LeastChunk(most_s));
    const bool is_better =
        !answer_ || IsLess(answer.chunk_s, answer_->chunk_s) ||
        (!IsLess(answer_->chunk_s, answer.chunk_s) && IsLess(answer.token_s, answer_->token_s));
    if (is_better) answer_ = answer;
    return true;
  }

  // The order of the best split so far; empty if there is none.
  std::vector<size_t> Order() const {
    std::vector<size_t> order;
    if (!answer_) return order;
    for (const SplitAnswer::Part& part : answer_->parts) order.push_back(part.node);
    return order;
  }

  std::optional<SplitAnswer> Take() { return std::move(answer_); }

 private:
  const SplitProblem& problem_;
  std::optional<SplitAnswer> answer_;
};

// Equal nodes have the same kind.
std::vector<size_t> KindsOf(const SplitProblem& problem) {
  const size_t count = problem.nodes.size();
  const auto same = [&](size_t a, size_t b) {
    if (problem.nodes[a] != problem.nodes[b]) return false;
    if (problem.link(a, b) != problem.link(b, a)) return false;
    for (size_t i = 0; i < count; ++i) {
      if (i == a || i == b) continue;
      if (problem.link(a, i) != problem.link(b, i)) return false;
      if (problem.link(i, a) != problem.link(i, b)) return false;
    }
    return true;
  };
  // The kind is the index of the first equal node.
  std::vector<size_t> kinds(count);
  for (size_t i = 0; i < count; ++i) {
    kinds[i] = i;
    for (size_t j = 0; j < i; ++j) {
      if (kinds[j] == j && same(i, j)) {
        kinds[i] = j;
        break;
      }
    }
  }
  return kinds;
}

// Visits every different order of every subset; false if there are too many.
class Orders {
 public:
  Orders(const SplitProblem& problem, std::function<void(std::span<const size_t>)> visit)
      : problem_(problem), kinds_(KindsOf(problem)), visit_(std::move(visit)) {}

  bool Visit() { return Extend(); }

 private:
  bool Extend() {
    const bool is_whole = order_.size() == problem_.nodes.size();
    if (!order_.empty() && (is_whole || !problem_.all_nodes)) {
      if (++count_ > kMostOrders) return false;
      visit_(order_);
    }
    if (order_.size() == problem_.layer_count()) return true;
    // Nodes of one kind are interchangeable: one of them is tried in each place.
    std::vector<bool> kind_used(problem_.nodes.size(), false);
    for (size_t i = 0; i < problem_.nodes.size(); ++i) {
      if (std::ranges::find(order_, i) != order_.end() || kind_used[kinds_[i]]) continue;
      kind_used[kinds_[i]] = true;
      order_.push_back(i);
      const bool go_on = Extend();
      order_.pop_back();
      if (!go_on) return false;
    }
    return true;
  }

  const SplitProblem& problem_;
  const std::vector<size_t> kinds_;
  const std::function<void(std::span<const size_t>)> visit_;
  std::vector<size_t> order_;
  size_t count_ = 0;
};

// Reorders the nodes: each next one is the nearest of those left.
std::vector<size_t> NearestOrder(const SplitProblem& problem, std::vector<size_t> left) {
  std::vector<size_t> order = {left.front()};
  left.erase(left.begin());
  while (!left.empty()) {
    const auto nearest = std::ranges::min_element(left, {}, [&](size_t i) {
      const SplitProblem::Link& link = problem.link(order.back(), i);
      return std::pair(link.chunk_s, link.token_s);
    });
    order.push_back(*nearest);
    left.erase(nearest);
  }
  return order;
}

// Tries the fastest nodes, with a growing number of them, and different ones at the end, where the
// head is.
void TryGoodOrders(const SplitProblem& problem, Best& best) {
  std::vector<size_t> by_speed(problem.nodes.size());
  std::iota(by_speed.begin(), by_speed.end(), size_t{0});
  std::ranges::stable_sort(by_speed, {}, [&](size_t i) {
    return PartChunkTime(problem.nodes[i], problem.layer_count(), /*has_head=*/false);
  });
  const size_t most = std::min<size_t>(by_speed.size(), problem.layer_count());
  for (size_t count = problem.all_nodes ? by_speed.size() : 1; count <= most; ++count) {
    const std::vector<size_t> chosen(by_speed.begin(),
                                     by_speed.begin() + static_cast<ptrdiff_t>(count));
    best.Try(NearestOrder(problem, chosen));
    const auto largest = std::ranges::max_element(
        chosen, {}, [&](size_t i) { return problem.nodes[i].memory_bytes; });
    for (const size_t last : {chosen.front(), chosen.back(), *largest}) {
      std::vector<size_t> order = chosen;
      std::erase(order, last);
      order.push_back(last);
      best.Try(order);
    }
  }
}

// One random change of an order: two nodes are swapped, one is moved, one is added (or replaces
// another), or one is left out.
std::vector<size_t> Changed(std::vector<size_t> order, const SplitProblem& problem,
                            Random& random) {
  const auto place = [&](size_t more) {
    return order.begin() + static_cast<ptrdiff_t>(random.NextBelow(order.size() + more));
  };
  std::vector<size_t> others;
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    if (std::ranges::count(order, i) == 0) others.push_back(i);
  }
  const uint64_t kind = random.NextBelow(5);
  if (kind == 0) {
    std::iter_swap(place(0), place(0));
  } else if (kind == 1) {
    const auto from = place(0);
    const size_t node = *from;
    order.erase(from);
    order.insert(place(1), node);
  } else if (kind == 2 && order.size() > 1 && !problem.all_nodes) {
    order.erase(place(0));
  } else if (kind == 3 && !others.empty()) {
    *place(0) = others[random.NextBelow(others.size())];
  } else if (!others.empty() && order.size() < problem.layer_count()) {
    order.insert(place(1), others[random.NextBelow(others.size())]);
  }
  return order;
}

// Changes the best order within a limit of work. The same problem gives the same answer.
void ChangeOrders(const SplitProblem& problem, Best& best) {
  Random random(1);
  const uint64_t steps = uint64_t{problem.layer_count()} * problem.nodes.size();
  const uint64_t most = std::min(kMostChanges, kMostSteps / std::max<uint64_t>(steps, 1));
  for (uint64_t cost = 0; cost < most;) {
    const std::vector<size_t> order = best.Order();
    if (order.empty()) return;
    const std::vector<size_t> changed = Changed(order, problem, random);
    cost += changed != order && best.Try(changed) ? kCostOfWhole : 1;
  }
}

}  // namespace

SplitProblem::Node SplitProblem::Node::InGroup(uint32_t layers) const {
  Node node = *this;
  const double there = layers == 0 ? 0 : static_cast<double>(OnDevice(layers)) / layers;
  if (there == 0) return node;
  node.layer_s += there * (device_layer_s - layer_s);
  node.byte_s += there * (device_byte_s - byte_s);
  // The device has the last layers, and the head with them.
  node.head_s *= device_layer_s / layer_s;
  return node;
}

double PartChunkTime(const SplitProblem::Node& node, uint32_t layers, bool has_head) {
  const uint32_t there = node.OnDevice(layers);
  return (has_head ? node.head_s : 0) + (layers - there) * node.layer_s +
         there * node.device_layer_s + (there > 0 ? node.bus_chunk_s : 0);
}

double PartTokenTime(const SplitProblem& problem, const SplitProblem::Node& node, uint32_t begin,
                     uint32_t end) {
  const uint32_t there = node.OnDevice(end - begin);
  const std::vector<double>& before = problem.reads_before;
  const double head = end == problem.layer_count() ? problem.head_reads : 0;
  const double here_reads = before[end - there] - before[begin] + (there == 0 ? head : 0);
  const double there_reads = before[end] - before[end - there] + (there > 0 ? head : 0);
  return here_reads * node.byte_s + there_reads * node.device_byte_s +
         (there > 0 ? node.bus_token_s : 0) + node.extra_s + (end - begin) * node.layer_extra_s;
}

// Grows with `end`, and with an earlier `begin`: layers that exceed the device's room are the
// node's.
uint64_t PartMemory(const SplitProblem& problem, const SplitProblem::Node& node, uint32_t begin,
                    uint32_t end) {
  if (begin == end) return 0;
  const uint32_t count = end - begin;
  const uint32_t there = node.device_shares_memory ? 0 : node.OnDevice(count);
  uint64_t bytes = problem.bytes_before[end - there] - problem.bytes_before[begin];
  if (begin == 0) bytes += problem.embedding_bytes;
  if (end == problem.layer_count() && there == 0) {
    bytes += problem.head_bytes;
    if (begin == 0) bytes -= problem.shared_bytes;
  }
  if (there == 0) return bytes + node.kv_bytes;
  // The KV cache is divided as layers are.
  const double share = static_cast<double>(node.kv_bytes) * (count - there) / count;
  return bytes + static_cast<uint64_t>(std::ceil(share));
}

std::optional<SplitAnswer> SplitInOrder(const SplitProblem& problem,
                                        std::span<const size_t> order) {
  return SplitInOrder(problem, order, /*slack=*/1);
}

std::optional<SplitAnswer> SplitInOrder(const SplitProblem& problem, std::span<const size_t> order,
                                        double slack) {
  Chain chain(problem, order);
  if (order.empty() || !chain.IsFeasible(kNever)) return std::nullopt;
  return chain.FastestToken(chain.LeastChunk() * slack);
}

std::optional<SplitAnswer> SearchSplit(const SplitProblem& problem) {
  if (problem.nodes.empty() || problem.layer_count() == 0) return std::nullopt;
  Best best(problem);
  // The first visit only counts the orders, before any is evaluated.
  if (Orders(problem, [](std::span<const size_t>) {}).Visit()) {
    Orders(problem, [&](std::span<const size_t> order) { best.Try(order); }).Visit();
  } else {
    TryGoodOrders(problem, best);
    ChangeOrders(problem, best);
  }
  return best.Take();
}

uint32_t LayersThatFit(const SplitProblem& problem, size_t node, uint32_t begin) {
  const SplitProblem::Node& able = problem.nodes[node];
  uint32_t end = begin;
  while (end < problem.layer_count() &&
         PartMemory(problem, able, begin, end + 1) <= able.memory_bytes) {
    ++end;
  }
  return end - begin;
}

}  // namespace aster::plan
