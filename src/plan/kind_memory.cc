// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/kind_memory.h"

#include <algorithm>

namespace aster::plan {
namespace {

// The node's largest share of the bytes of any layer.
double PartOfMember(const KindProblem& problem, const GroupAnswer& group, size_t member) {
  const GroupProblem& layer = problem.layer;
  if (problem.group.memory == nullptr) {
    return MemberBytes(layer, group.shares, group.form, member) /
           static_cast<double>(layer.bytes + layer.whole_bytes);
  }
  double most = 0;
  for (uint32_t i = 0; i < problem.split.layer_count(); ++i) {
    // Both counts include the embedding with the first layer, and the head with the last one.
    const uint64_t all = PartMemory(problem.split, /*node=*/{}, i, i + 1);
    const auto own = static_cast<double>(
        BytesOfMember(*problem.group.memory, group.shares, group.form, member, i, i + 1));
    most = std::max(most, own / static_cast<double>(std::max<uint64_t>(all, 1)));
  }
  return most;
}

}  // namespace

uint64_t MemoryAsStage(const KindProblem& problem, const GroupAnswer& layer) {
  double memory = 1e18;
  for (size_t i = 0; i < layer.nodes.size(); ++i) {
    const SplitProblem::Node& able = problem.split.nodes[layer.nodes[i]];
    // If the division of the embedding is unknown, each node has all of it.
    const uint64_t beside =
        able.kv_bytes + (problem.group.memory == nullptr ? problem.split.embedding_bytes : 0);
    const double room = static_cast<double>(able.memory_bytes) - static_cast<double>(beside);
    memory = std::min(memory, std::max(room, 0.0) / PartOfMember(problem, layer, i));
  }
  return static_cast<uint64_t>(memory);
}

bool GroupsFit(const KindProblem& problem, const KindAnswer& answer) {
  if (problem.group.memory == nullptr) return true;
  for (const KindAnswer::Part& part : answer.parts) {
    for (size_t i = 0; part.nodes.size() > 1 && i < part.nodes.size(); ++i) {
      const SplitProblem::Node& able = problem.split.nodes[part.nodes[i]];
      const uint64_t bytes =
          BytesOfMember(*problem.group.memory, part.shares, part.form, i, part.begin, part.end);
      if (bytes > able.memory_bytes - std::min(able.memory_bytes, able.kv_bytes)) return false;
    }
  }
  return true;
}

bool FitsDisaggregated(const KindProblem& problem, const KindAnswer& prefill,
                       const KindAnswer& decode) {
  const KindAnswer::Part& whole = decode.parts.front();
  for (const KindAnswer::Part& part : prefill.parts) {
    const size_t node = part.nodes.front();
    const auto member = std::ranges::find(whole.nodes, node);
    if (whole.nodes.size() == 1 || member == whole.nodes.end()) continue;
    const SplitProblem::Node& able = problem.split.nodes[node];
    const double bytes =
        static_cast<double>(PartMemory(problem.split, able, part.begin, part.end)) +
        MemberBytes(problem.group, whole.shares, whole.form,
                    static_cast<size_t>(member - whole.nodes.begin()));
    if (bytes > static_cast<double>(able.memory_bytes)) return false;
  }
  return true;
}

}  // namespace aster::plan
