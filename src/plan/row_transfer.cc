// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/row_transfer.h"

#include <algorithm>
#include <numeric>

namespace aster::plan {
namespace {

using Part = KindAnswer::Part;

// Whether rows of one part are where the other needs them.
bool IsSame(const Part& a, const Part& b) { return a.nodes == b.nodes && a.shares == b.shares; }

// The part itself, or else the one with the fastest link that has the layer's rows; null: none.
const Part* SourceOf(const KindProblem& problem, const Part& part, uint32_t layer,
                     uint32_t tokens) {
  const Part* best = nullptr;
  double best_s = 0;
  for (const KindProblem::Held& held : problem.held) {
    const Part& by = held.by;
    if (held.tokens < tokens || layer < by.begin || layer >= by.end) continue;
    if (IsSame(by, part)) return &by;
    const size_t from = by.nodes.front(), to = part.nodes.front();
    const double byte_s = from == to ? 0 : problem.group.link(from, to).byte_s;
    if ((from != to && byte_s <= 0) || (best != nullptr && byte_s >= best_s)) continue;
    best = &by;
    best_s = byte_s;
  }
  return best;
}

}  // namespace

bool SendRows(const KindProblem& problem, const Part& source, const Part& target, double layers,
              std::vector<double>& sending_s) {
  const auto send = [&](size_t from, size_t to, double of) {
    const GroupProblem::Link& link = problem.group.link(from, to);
    sending_s[from] += link.byte_s * problem.kv_row_bytes * of;
    return link.byte_s > 0;
  };
  const auto share_of = [](const Part& part, size_t i) {
    return part.shares[i] / std::accumulate(part.shares.begin(), part.shares.end(), 0.0);
  };
  const size_t from = source.nodes.front(), to = target.nodes.front();
  for (size_t i = 1; i < source.nodes.size(); ++i) {
    if (!send(source.nodes[i], from, layers * share_of(source, i))) return false;
  }
  if (from != to && !send(from, to, layers)) return false;
  for (size_t i = 1; i < target.nodes.size(); ++i) {
    if (!send(to, target.nodes[i], layers * share_of(target, i))) return false;
  }
  return true;
}

std::optional<double> FetchTime(const KindProblem& problem, std::span<const Part> parts,
                                uint32_t tokens) {
  std::vector<double> sending_s(problem.split.nodes.size());
  for (const Part& part : parts) {
    for (uint32_t layer = part.begin; layer < part.end; ++layer) {
      // Layers that a node has in both paths share one KV cache.
      const auto is_same = [&](const Part& before) {
        return &before < &part && IsSame(before, part) && layer >= before.begin &&
               layer < before.end;
      };
      if (std::ranges::any_of(parts, is_same)) continue;
      const Part* const source = SourceOf(problem, part, layer, tokens);
      if (source == nullptr) return std::nullopt;
      if (!IsSame(*source, part) && !SendRows(problem, *source, part, 1, sending_s))
        return std::nullopt;
    }
  }
  return *std::ranges::max_element(sending_s) * tokens;
}

}  // namespace aster::plan
