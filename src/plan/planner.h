// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Splits a model among nodes by what they can do, within the memory of each: as a pipeline, the
// best prefill rate first, then the fastest token; or as a group (tensor parallel), where that
// answers sooner. A pure function: rates were measured elsewhere. The reasons are in
// docs/planner.md. Must not know how nodes are reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/model_load.h"
#include "plan/plan.h"

namespace aster::plan {

// A GPU of a node, which computes the last layers of the node's slice. A rate of 0 is not known.
struct DeviceAbility {
  std::string name;
  uint64_t memory_bytes = 0;
  double multiply_flops_per_s = 0;
  double memory_bytes_per_s = 0;
  double bus_round_trip_s = 0;
  double bus_bytes_per_s = 0;
  bool shares_memory = false;  // its memory is the node's
};

// What is known of a node. A rate of 0 is not known.
struct NodeAbility {
  PlanNode node;
  uint64_t memory_bytes = 0;  // main memory that is free for slices
  double multiply_flops_per_s = 0;
  double memory_bytes_per_s = 0;
  // Those without a rate do not count.
  std::vector<DeviceAbility> devices = {};
  uint32_t gpu_layers = 0;  // most on all of them; 0: as many as fit
};

// What is known of the way from one node to another, by their places in the list of nodes.
struct LinkAbility {
  size_t from = 0;
  size_t to = 0;
  double round_trip_s = 0;
  double bytes_per_s = 0;  // 0: not known
};

struct PlannerOptions {
  uint64_t reserved_bytes = 0;  // on every node, for the KV cache
  bool all_nodes = false;       // else those that would only be in the way are left out
  uint32_t chunk_tokens = 256;  // that flow through the stages together
  bool all_logits = false;      // every token goes through the head, not the last of a prompt only
  // Whether all layers may be computed by a group, if that answers such a request sooner.
  bool may_group = false;
  uint32_t prompt_tokens = 512;
  uint32_t answer_tokens = 256;
};

struct SplitPlan {
  Plan plan;
  // Of long prompts, and of a single sequence; 0 where no speed of any node is known.
  double prefill_tokens_per_s = 0;
  double decode_tokens_per_s = 0;
  // Of a chunk through all stages, one after the other; 0 where nothing is known.
  double first_chunk_s = 0;
  // For people: who does what in which time, who is left out and why, and what another kind of plan
  // would take.
  std::vector<std::string> lines;
};

// ResourceExhausted where the model does not fit, and what would.
Result<SplitPlan> PlanSplit(std::span<const NodeAbility> nodes, std::span<const LinkAbility> links,
                            const ModelLoad& load, const PlannerOptions& options = {});

// A line on nodes of the plan's groups that have GPUs, which groups do not use; empty where there
// are none.
std::string DescribeUnusedGpus(const Plan& plan, std::span<const NodeAbility> nodes);

}  // namespace aster::plan
