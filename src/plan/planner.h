// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Splits a model among nodes by what they can do, within the memory of each: as a pipeline, the
// best prefill rate first, then the fastest token; or, for a request that is known, by the kind of
// plan that answers it soonest (plan/kind_search.h). A pure function: rates were measured
// elsewhere. The reasons are in docs/planner.md. Must not know how nodes are reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/measured_slices.h"
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
  // These say more than the rates above, which are of other matrices.
  std::vector<MeasuredSlice> measured = {};
  // In a group; else its program is older than these, or than groups of that model's family.
  bool may_own_experts = true;
  bool may_divide_new = true;  // ModelLoad::Together::is_new
};

// What is known of the way from one node to another, by their places in the list of nodes.
struct LinkAbility {
  size_t from = 0;
  size_t to = 0;
  double round_trip_s = 0;
  double bytes_per_s = 0;  // 0: not known
};

// KV rows of the beginning of a request's text, which a node or a group has of some layers.
struct HeldRows {
  PlanStage stage;
  uint32_t tokens = 0;
};

struct PlannerOptions {
  uint64_t reserved_bytes = 0;  // on every node, for the KV cache
  bool all_nodes = false;       // else those that would only be in the way are left out
  uint32_t chunk_tokens = 256;  // that flow through the stages together
  double longest_frame_s = 0;   // at a stage; fewer tokens flow together where more take longer
  bool all_logits = false;      // every token goes through the head, not the last of a prompt only
  // Whether a node alone, a group or two paths are taken where they answer such a request sooner;
  // else a pipeline, which several requests share best.
  bool may_choose = false;
  bool compares = true;         // else kinds of plan that may not be taken are not looked at
  bool exact_transfers = true;  // as groups want KV rows
  uint32_t prompt_tokens = 512;
  uint32_t answer_tokens = 256;
  // Plans need not compute these of the prompt: its nodes have them, or get them from those that do
  // where that is sooner.
  std::vector<HeldRows> held = {};
};

// The best plan of a kind for the request.
struct Alternative {
  std::string kind;          // "one node", "a group"
  std::optional<Plan> plan;  // nothing where none is possible
  double first_token_s = 0;
  double decode_tokens_per_s = 0;
  double request_s = 0;
  uint32_t held_tokens = 0;  // of the prompt, that are not computed
  double fetch_s = 0;        // of first_token_s, until their KV rows have come from other nodes
  bool is_taken = false;
  std::string why;  // it is not taken; empty of the one that is
};

// What a stage is expected to take.
struct ExpectedTimes {
  double chunk_s = 0;
  double token_s = 0;
  double exchange_s = 0;  // of token_s: messages in its group
};

struct SplitPlan {
  Plan plan;
  std::vector<ExpectedTimes> stage_times;  // of both paths, one behind the other
  // Of long prompts, and of a single sequence; 0 where no speed of any node is known.
  double prefill_tokens_per_s = 0;
  double decode_tokens_per_s = 0;
  // Of a chunk through all stages, one after the other; 0 where nothing is known.
  double first_chunk_s = 0;
  // Of the options' request; likewise.
  double first_token_s = 0;
  double request_s = 0;
  uint32_t held_tokens = 0;  // as an Alternative's
  double fetch_s = 0;
  // For people: who does what in which time, who is left out and why, and what the next best kind
  // of plan would take.
  std::vector<std::string> lines;
  // All kinds of plan; none where rates are not known.
  std::vector<Alternative> alternatives;
};

// ResourceExhausted where the model does not fit, and what would.
Result<SplitPlan> PlanSplit(std::span<const NodeAbility> nodes, std::span<const LinkAbility> links,
                            const ModelLoad& load, const PlannerOptions& options = {});

// What a plan that these nodes have memory for would take of the options' request, without lines
// and alternatives; nothing where a node of it is missing, or rates or links are not known.
std::optional<SplitPlan> PredictPlan(std::span<const NodeAbility> nodes,
                                     std::span<const LinkAbility> links, const ModelLoad& load,
                                     const PlannerOptions& options, const Plan& plan);

}  // namespace aster::plan
