// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The planner: splits a model among nodes by their rates, within the memory of each. A pipeline has
// the best prefill rate, and then the fastest token; for a known request it takes the kind of plan
// that answers it soonest (plan/kind_search.h). A pure function of measured rates. The reasons are
// in docs/planner.md. Must not know how nodes are reached.
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

// A GPU of a node, which computes the last layers of the node's slice. Rate 0: unknown.
struct DeviceAbility {
  std::string name;
  uint64_t memory_bytes = 0;
  double multiply_flops_per_s = 0;
  double memory_bytes_per_s = 0;
  double bus_round_trip_s = 0;
  double bus_bytes_per_s = 0;
  bool shares_memory = false;  // its memory is the node's
};

// A node's properties. Rate 0: unknown.
struct NodeAbility {
  PlanNode node;
  uint64_t memory_bytes = 0;  // main memory that is free for slices
  double multiply_flops_per_s = 0;
  double memory_bytes_per_s = 0;
  // GPUs without a rate do not count.
  std::vector<DeviceAbility> devices = {};
  uint32_t gpu_layers = 0;  // the most on all of them; 0: as many as fit
  // Times of this model's own layers; they correct the rates above, which are of other matrices.
  std::vector<MeasuredSlice> measured = {};
  // Whether it may be in a group; false: its program is older than groups, or than groups of that
  // model's family.
  bool may_own_experts = true;
  bool may_divide_new = true;  // ModelLoad::Together::is_new
};

// The link from one node to another, by their indices in the list of nodes.
struct LinkAbility {
  size_t from = 0;
  size_t to = 0;
  double round_trip_s = 0;
  double bytes_per_s = 0;  // 0: unknown
};

// KV rows of the beginning of a request's text that a node or a group has, of some layers.
struct HeldRows {
  PlanStage stage;
  uint32_t tokens = 0;
};

struct PlannerOptions {
  uint64_t reserved_bytes = 0;  // on every node, for the KV cache
  bool all_nodes = false;       // false: nodes that make nothing faster are left out
  uint32_t chunk_tokens = 256;  // tokens of a frame of a prompt
  double longest_frame_s = 0;  // limit at a stage; a frame that would take longer gets fewer tokens
  bool all_logits = false;     // every token goes through the head, not only the last of a prompt
  // Whether a node alone, a group or two paths are taken if they answer such a request sooner;
  // otherwise a pipeline, which is best for several requests at once.
  bool may_choose = false;
  bool compares = true;         // false: kinds of plan that may not be taken are not computed
  bool exact_transfers = true;  // KV transfers are exact, which groups need
  uint32_t prompt_tokens = 512;
  uint32_t answer_tokens = 256;
  // KV rows of the prompt that nodes have: a plan's nodes fetch them if that is faster than
  // computing.
  std::vector<HeldRows> held = {};
};

// The best plan of a kind for the request.
struct Alternative {
  std::string kind;          // "one node", "a group"
  std::optional<Plan> plan;  // nullopt: none is possible
  double first_token_s = 0;
  double decode_tokens_per_s = 0;
  double request_s = 0;
  uint32_t held_tokens = 0;  // tokens of the prompt that are not computed
  double fetch_s = 0;        // part of first_token_s: until their KV rows have arrived
  bool is_taken = false;
  std::string why;  // why it is not taken; empty: it is taken
};

// The predicted times of a stage.
struct ExpectedTimes {
  double chunk_s = 0;
  double token_s = 0;
  double exchange_s = 0;  // part of token_s: messages in its group
};

struct SplitPlan {
  Plan plan;
  std::vector<ExpectedTimes> stage_times;  // of both paths, one after the other
  // Rates for long prompts, and for a single sequence; 0: no node's rates are known.
  double prefill_tokens_per_s = 0;
  double decode_tokens_per_s = 0;
  // Time of a chunk through all stages, one after the other; 0: unknown.
  double first_chunk_s = 0;
  // Times of the options' request; 0: unknown.
  double first_token_s = 0;
  double request_s = 0;
  uint32_t held_tokens = 0;  // as in Alternative
  double fetch_s = 0;
  // For users: the layers and times of each node, which nodes are left out and why, and the times
  // of the next best kind of plan.
  std::vector<std::string> lines;
  // All kinds of plan; empty if rates are unknown.
  std::vector<Alternative> alternatives;
};

// ResourceExhausted if the model does not fit; the error says what would help.
Result<SplitPlan> PlanSplit(std::span<const NodeAbility> nodes, std::span<const LinkAbility> links,
                            const ModelLoad& load, const PlannerOptions& options = {});

// The predicted times of a plan for the options' request, without lines and alternatives. The nodes
// must have memory for it. Nullopt if one of them is missing, or if rates or links are unknown.
std::optional<SplitPlan> PredictPlan(std::span<const NodeAbility> nodes,
                                     std::span<const LinkAbility> links, const ModelLoad& load,
                                     const PlannerOptions& options, const Plan& plan);

}  // namespace aster::plan
