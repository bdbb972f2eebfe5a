// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Two equal nodes, and a model to plan on them. Only for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "open/node_pool.h"
#include "open/plan_by_ability.h"

namespace aster::open {

inline constexpr uint64_t kTestMiB = uint64_t{1} << 20;

// Two equal nodes.
class FakePool final : public NodePool {
 public:
  explicit FakePool(uint64_t memory_bytes) {
    for (uint64_t i = 1; i <= 2; ++i) {
      nodes_.push_back(
          {.node = {.id = {Hash128{i, i}}, .name = i == 1 ? "a" : "b", .addresses = {}},
           .memory_bytes = memory_bytes,
           .multiply_flops_per_s = 1e12,
           .memory_bytes_per_s = 1e10});
      links_.push_back({i - 1, 2 - i, 1e-4, 1e9});
    }
  }
  // The node already holds these layers, in memory that is taken.
  void Hold(size_t node, model::Slice slice, uint64_t bytes) {
    shared_.push_back({.node = nodes_[node].node.id, .slice = slice, .bytes = bytes});
    nodes_[node].memory_bytes -= bytes;
  }

  void Give(size_t node, double multiply_flops_per_s, double memory_bytes_per_s) {
    nodes_[node].multiply_flops_per_s = multiply_flops_per_s;
    nodes_[node].memory_bytes_per_s = memory_bytes_per_s;
  }
  void Took(size_t node, const plan::MeasuredSlice& slice) {
    nodes_[node].measured.push_back(slice);
  }

  void SetLink(size_t from, double bytes_per_s) {
    for (plan::LinkAbility& link : links_) {
      if (link.from == from) link.bytes_per_s = bytes_per_s;
    }
  }

  // The node reports that it is drained.
  void Drain(size_t node) {
    absent_.push_back({.id = nodes_[node].node.id,
                       .name = nodes_[node].node.name,
                       .why = "is drained",
                       .is_drained = true});
    nodes_.erase(nodes_.begin() + static_cast<ptrdiff_t>(node));
    links_.clear();
  }

  bool wants_all() const override { return false; }
  net::Credentials Credentials() const override { return {}; }
  Status SetDrained(std::vector<wire::NodeId> /*nodes*/) override { return Ok(); }
  Status Refresh(std::span<const wire::NodeId>, const Status&) override { return Ok(); }
};

inline WantedPlan WantedForTest() {
  WantedPlan wanted;
  wanted.load.layers.resize(12, {100 * kTestMiB, 1e8});
  wanted.load.embedding_bytes = wanted.load.head_bytes = 20 * kTestMiB;
  wanted.load.flops_per_layer = 2e8;
  wanted.load.row_bytes = 16384;
  wanted.load.context = 4096;
  return wanted;
}

}  // namespace aster::open
