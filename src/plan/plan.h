// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which node computes which layers, and the text form of that. Ranges of layers are half-open in
// the code, and inclusive in texts for users. Must not know how nodes are reached, nor their rates.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/parts/slice.h"
#include "wire/messages.h"

namespace aster::plan {

// A node as plans name it.
struct PlanNode {
  wire::NodeId id;
  std::string name;                    // for users
  std::vector<std::string> addresses;  // HOST:PORT, the best first
};

// Follows the nodes of a group in --split if they own experts.
inline constexpr std::string_view kExpertsWord = "/experts";

// The largest share of a node in its group's work.
inline constexpr uint32_t kMostShare = 1000;

struct PlanStage {
  PlanNode node;
  model::Slice slice;
  // Nodes that compute these layers together with `node`, which leads them; and the shares of the
  // work, beginning with `node`.
  std::vector<PlanNode> members = {};
  std::vector<uint32_t> shares = {};
  // Whether each of a group's nodes owns experts, instead of having rows of all; then also how many
  // experts per layer are on all of them.
  bool owns_experts = false;
  uint32_t replicas = 0;

  bool is_group() const { return !members.empty(); }
  bool Has(const wire::NodeId& id) const;
  // The part that each node of the group computes, `node` first.
  std::vector<model::Slice> Slices() const;
};

// In the order of their layers. A node may hold several of them.
struct Plan {
  std::vector<PlanStage> stages;
  // The decode path, which has all layers again, for answers whose prompts `stages` prefill. Empty:
  // `stages` decode, too.
  std::vector<PlanStage> decode;

  // The stages of both paths one after the other, as routes number them.
  std::vector<PlanStage> AllStages() const;
  bool has_groups() const;
};

// "0:20,21:out": layers 0 to 20 on the first node, those from 21 and the output head on the second.
// "b=0:20,a=21:out" names the nodes instead. Parts may be in any order. "a+b=0:out" is a group,
// which computes these layers together ("2*a+b": a does twice as much), and "group" one of all
// nodes with all layers. After the nodes of a group, "/experts" gives each of them experts of its
// own, and "/experts*8" also gives eight experts of each layer to all of them. An error says which
// layers are missing or doubled, and shows a split that works.
Result<Plan> ParseSplit(std::string_view text, uint32_t layer_count,
                        std::span<const PlanNode> nodes);

// A path of a plan: as ParseSplit, or only a node's name, which then has all layers. The form
// "a:0-20,b:21-out" is also allowed.
Result<std::vector<PlanStage>> ParsePath(std::string_view text, uint32_t layer_count,
                                         std::span<const PlanNode> nodes);

// Divides the layers equally among the nodes.
Result<Plan> EvenSplit(uint32_t layer_count, std::span<const PlanNode> nodes);

// Adapts a plan to a model whose slices cannot begin with every layer: each stage begins with the
// nearest possible earlier layer, and a stage without layers is left out.
Plan MovedCuts(Plan plan, const model::Shape& shape);

// Whether the stages of each path hold every layer once, in order, the embedding first and the head
// last; and whether each node has one place in a path with groups, and leads one group at most.
Status CheckPlan(const Plan& plan, uint32_t layer_count);

// "a", or "a+b", "a+b/experts" for a group.
std::string NameOf(const PlanStage& stage);
// "a: layers 0 to 20; b: layers 21 to 35 and the head", and the decode path if there is one.
std::string DescribePlan(const Plan& plan);
// "layers 21 to 35 and the head".
std::string DescribeSlice(const model::Slice& slice);
// As ParseSplit reads it: "a=0:20,b=21:out"; with " decode b=0:out" if there is a decode path.
std::string SplitText(const Plan& plan);
// As a user would type it: "--split a=0:7,b=8:out --decode a+b=0:out".
std::string OptionsText(const Plan& plan);

}  // namespace aster::plan
