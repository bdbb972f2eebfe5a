// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace aster::plan {
namespace {

// A correct split of that many layers, for messages.
std::string ExampleOf(uint32_t layer_count) {
  if (layer_count < 2) return "0:out";
  const uint32_t half = layer_count / 2;
  return fmt::format("0:{},{}:out", half - 1, half);
}

std::string LayersText(uint32_t begin, uint32_t end) {
  return end - begin == 1 ? fmt::format("layer {}", begin)
                          : fmt::format("layers {} to {}", begin, end - 1);
}

Error BadSplit(std::string_view what, uint32_t layer_count) {
  return InvalidArgument(
      fmt::format("{}; a split of {} layers reads {}", what, layer_count, ExampleOf(layer_count)));
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<uint32_t> ParseNumber(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "0:20", "21:out" or "5".
Result<model::Slice> ParseLayers(std::string_view text, uint32_t layer_count) {
  const size_t colon = text.find(':');
  const std::string_view first = Trim(text.substr(0, colon));
  const std::string_view last =
      colon == std::string_view::npos ? first : Trim(text.substr(colon + 1));
  const auto begin = ParseNumber(first);
  const auto end = last == "out" ? std::optional(layer_count - 1) : ParseNumber(last);
  if (!begin || !end) {
    return BadSplit(fmt::format("\"{}\" is no range of layers", text), layer_count);
  }
  if (*begin >= layer_count || *end >= layer_count) {
    return BadSplit(fmt::format("\"{}\" names layer {}; the model has layers 0 to {}", text,
                                std::max(*begin, *end), layer_count - 1),
                    layer_count);
  }
  if (*end < *begin) {
    return BadSplit(fmt::format("\"{}\" ends before it begins", text), layer_count);
  }
  return model::Slice{.layer_begin = *begin,
                      .layer_end = *end + 1,
                      .embedding = *begin == 0,
                      .head = *end + 1 == layer_count};
}

// The word of --split for a group of all nodes with all layers.
constexpr std::string_view kGroupWord = "group";

// For nodes that own experts: the number of experts per layer that all of them have.
std::string ExpertsText(uint32_t replicas) {
  return replicas == 0 ? std::string(kExpertsWord) : fmt::format("{}*{}", kExpertsWord, replicas);
}

// Removes the text of ExpertsText from the end of the nodes, and parses it.
Result<std::optional<uint32_t>> TakeExperts(std::string_view& text) {
  const size_t begin = text.rfind(kExpertsWord);
  if (begin == text.npos) return std::optional<uint32_t>();
  const std::string_view suffix = Trim(text.substr(begin));
  text = Trim(text.substr(0, begin));
  const std::string_view behind = Trim(suffix.substr(kExpertsWord.size()));
  if (behind.empty()) return std::optional(0u);
  const auto replicas = behind[0] == '*' ? ParseNumber(Trim(behind.substr(1))) : std::nullopt;
  if (replicas) return replicas;
  return InvalidArgument(fmt::format(
      "\"{}\": a group whose nodes own experts ends in {}, or in {} where eight of each "
      "layer are on all of them",
      suffix, kExpertsWord, ExpertsText(8)));
}

bool IsGroupWord(std::string_view text) {
  return Trim(text.substr(0, text.rfind(kExpertsWord))) == kGroupWord;
}

// The leading one first.
std::vector<const PlanNode*> NodesOf(const PlanStage& stage) {
  std::vector<const PlanNode*> nodes = {&stage.node};
  for (const PlanNode& member : stage.members) nodes.push_back(&member);
  return nodes;
}

std::string NamesOf(std::span<const PlanNode> nodes) {
  std::vector<std::string> names;
  for (const PlanNode& node : nodes) names.push_back(node.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<PlanNode> NodeNamed(std::string_view name, std::span<const PlanNode> nodes) {
  const auto is_named = [&](const PlanNode& node) {
    return node.name == name || node.id.ToText() == name;
  };
  const auto found = std::ranges::find_if(nodes, is_named);
  if (found == nodes.end()) {
    return NotFound(fmt::format("no node is called \"{}\"; there are: {}", name, NamesOf(nodes)));
  }
  if (std::ranges::count_if(nodes, is_named) > 1) {
    return InvalidArgument(
        fmt::format("several nodes are called \"{}\": name them by their ids", name));
  }
  return *found;
}

// "a", or "2*a+b": the nodes of a stage, and how they share its work.
Status ParseNodes(std::string_view text, std::span<const PlanNode> nodes, PlanStage& stage) {
  const std::optional<uint32_t> replicas = TRY(TakeExperts(text));
  stage.owns_experts = replicas.has_value();
  stage.replicas = replicas.value_or(0);
  std::vector<PlanNode> all;
  for (bool goes_on = true; goes_on;) {
    const size_t plus = std::min(text.find('+'), text.size());
    std::string_view name = Trim(text.substr(0, plus));
    goes_on = plus < text.size();
    text.remove_prefix(std::min(plus + 1, text.size()));
    std::optional<uint32_t> share = 1;
    if (const size_t star = name.find('*'); star != std::string_view::npos) {
      share = ParseNumber(Trim(name.substr(0, star)));
      name = Trim(name.substr(star + 1));
    }
    if (!share || *share == 0 || *share > kMostShare) {
      return InvalidArgument(
          fmt::format("a node's share of its group's work is a number from 1 to {}, as in 2*{}",
                      kMostShare, name));
    }
    all.push_back(TRY(NodeNamed(name, nodes)));
    stage.shares.push_back(*share);
  }
  stage.node = std::move(all.front());
  stage.members.assign(all.begin() + 1, all.end());
  if (stage.is_group()) return Ok();
  stage.shares.clear();
  if (!stage.owns_experts) return Ok();
  return InvalidArgument(fmt::format("{} stands behind the nodes of a group, as in {}+other{}",
                                     kExpertsWord, stage.node.name, kExpertsWord));
}

// A group of all nodes with all layers.
std::string GroupOfAll(std::span<const PlanNode> nodes, std::string_view experts) {
  std::vector<std::string> names;
  for (const PlanNode& node : nodes) names.push_back(node.id.ToText());
  return fmt::format("{}{}=0:out", fmt::join(names, "+"), experts);
}

// Every node has one place at most in a path with groups.
Status CheckGroups(std::span<const PlanStage> stages) {
  if (std::ranges::none_of(stages, &PlanStage::is_group)) return Ok();
  std::vector<wire::NodeId> seen;
  for (const PlanStage& stage : stages) {
    if (stage.members.size() >= model::GroupPart::kMostParts) {
      return InvalidArgument(fmt::format("a group of {} nodes; 2 to {} can be a group",
                                         stage.members.size() + 1, model::GroupPart::kMostParts));
    }
    for (const PlanNode* node : NodesOf(stage)) {
      if (std::ranges::count(seen, node->id) > 0) {
        return InvalidArgument(fmt::format(
            "node {} is in a split with groups twice; give it one place there", node->name));
      }
      seen.push_back(node->id);
    }
  }
  return Ok();
}

}  // namespace

bool PlanStage::Has(const wire::NodeId& id) const {
  return node.id == id || std::ranges::count(members, id, &PlanNode::id) > 0;
}

std::vector<model::Slice> PlanStage::Slices() const {
  std::vector<model::Slice> slices(members.size() + 1, slice);
  if (!is_group()) return slices;
  model::GroupPart part{.count = static_cast<uint32_t>(slices.size()),
                        .owns_experts = owns_experts,
                        .replicas = replicas};
  std::ranges::copy(shares, part.shares.begin());
  for (uint32_t i = 0; i < slices.size(); ++i) slices[i].part = part.At(i);
  return slices;
}

bool Plan::has_groups() const {
  return std::ranges::any_of(stages, &PlanStage::is_group) ||
         std::ranges::any_of(decode, &PlanStage::is_group);
}

Result<Plan> ParseSplit(std::string_view text, uint32_t layer_count,
                        std::span<const PlanNode> nodes) {
  if (layer_count == 0) return InvalidArgument("a model without layers cannot be split");
  if (IsGroupWord(text) && !nodes.empty()) {
    const std::optional<uint32_t> replicas = TRY(TakeExperts(text));
    const std::string experts = replicas ? ExpertsText(*replicas) : "";
    return ParseSplit(GroupOfAll(nodes, experts), layer_count, nodes);
  }
  Plan plan;
  for (size_t index = 0; !text.empty(); ++index) {
    // One part: "node=first:last", or without a name for the next node in order.
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view part = Trim(text.substr(0, comma));
    // A comma at the end promises another part.
    if (comma + 1 == text.size()) return BadSplit("the split ends in a comma", layer_count);
    text.remove_prefix(std::min(comma + 1, text.size()));
    PlanStage stage;
    if (const size_t equals = part.find('='); equals != std::string_view::npos) {
      TRY(ParseNodes(part.substr(0, equals), nodes, stage));
      part = Trim(part.substr(equals + 1));
    } else if (index < nodes.size()) {
      stage.node = nodes[index];
    } else {
      return BadSplit(fmt::format("\"{}\" is part {} of the split, and there are {} nodes ({}): "
                                  "name the node, as in {}={}",
                                  part, index + 1, nodes.size(), NamesOf(nodes),
                                  nodes.empty() ? "a" : nodes[0].name, part),
                      layer_count);
    }
    stage.slice = TRY(ParseLayers(part, layer_count));
    plan.stages.push_back(std::move(stage));
  }
  // Parts may be named in any order; the path is that of the layers.
  std::ranges::stable_sort(plan.stages, {},
                           [](const PlanStage& stage) { return stage.slice.layer_begin; });
  TRY(CheckPlan(plan, layer_count));
  return plan;
}

namespace {

void MoveCuts(std::vector<PlanStage>& stages, const model::Shape& shape) {
  if (stages.empty()) return;
  for (size_t i = 1; i < stages.size(); ++i) {
    uint32_t& begin = stages[i].slice.layer_begin;
    while (!shape.can_begin(begin)) --begin;
    stages[i - 1].slice.layer_end = begin;
  }
  std::erase_if(stages, [](const PlanStage& stage) {
    return stage.slice.layer_begin >= stage.slice.layer_end;
  });
  stages.front().slice.embedding = true;
  stages.back().slice.head = true;
}

}  // namespace

Plan MovedCuts(Plan plan, const model::Shape& shape) {
  MoveCuts(plan.stages, shape);
  MoveCuts(plan.decode, shape);
  return plan;
}

Result<Plan> EvenSplit(uint32_t layer_count, std::span<const PlanNode> nodes) {
  if (nodes.empty()) return InvalidArgument("there are no nodes to split the model over");
  Plan plan;
  // At least one layer each; further nodes have none.
  const auto count = static_cast<uint32_t>(std::min<size_t>(nodes.size(), layer_count));
  for (uint32_t i = 0; i < count; ++i) {
    const auto at = [&](uint32_t part) {
      return static_cast<uint32_t>(uint64_t{layer_count} * part / count);
    };
    plan.stages.push_back({.node = nodes[i],
                           .slice = {.layer_begin = at(i),
                                     .layer_end = at(i + 1),
                                     .embedding = i == 0,
                                     .head = i + 1 == count}});
  }
  TRY(CheckPlan(plan, layer_count));
  return plan;
}

namespace {

Status CheckPath(std::span<const PlanStage> stages, uint32_t layer_count) {
  uint32_t next = 0;
  for (const PlanStage& stage : stages) {
    const model::Slice& slice = stage.slice;
    if (slice.layer_begin >= slice.layer_end || slice.layer_end > layer_count) {
      return BadSplit(fmt::format("layers {} to {} of a model of {}", slice.layer_begin,
                                  slice.layer_end, layer_count),
                      layer_count);
    }
    // Each layer exactly once and in order: no gap, and no overlap.
    if (slice.layer_begin > next) {
      return BadSplit(fmt::format("no node has {}", LayersText(next, slice.layer_begin)),
                      layer_count);
    }
    if (slice.layer_begin < next) {
      return BadSplit(fmt::format("{} is given twice",
                                  LayersText(slice.layer_begin, std::min(next, slice.layer_end))),
                      layer_count);
    }
    next = slice.layer_end;
    if (slice.embedding != (slice.layer_begin == 0) || slice.head != (next == layer_count)) {
      return BadSplit("the embedding belongs to the first layer, and the head to the last",
                      layer_count);
    }
  }
  if (next < layer_count) {
    return BadSplit(fmt::format("no node has {}", LayersText(next, layer_count)), layer_count);
  }
  return Ok();
}

}  // namespace

Status CheckPlan(const Plan& plan, uint32_t layer_count) {
  TRY(CheckPath(plan.stages, layer_count));
  TRY(CheckGroups(plan.stages));
  if (plan.decode.empty()) return Ok();
  TRY(CheckPath(plan.decode, layer_count).In("the decode nodes"));
  TRY(CheckGroups(plan.decode));
  for (const PlanStage& stage : plan.decode) {
    const bool leads_twice = std::ranges::any_of(plan.stages, [&](const PlanStage& other) {
      return other.is_group() && stage.is_group() && other.node.id == stage.node.id;
    });
    if (!leads_twice) continue;
    return InvalidArgument(
        fmt::format("node {} leads a group of both splits: put another node of {} first in one of "
                    "them, or leave --decode out if both are the same",
                    stage.node.name, NameOf(stage)));
  }
  return Ok();
}

std::vector<PlanStage> Plan::AllStages() const {
  std::vector<PlanStage> all = stages;
  all.insert(all.end(), decode.begin(), decode.end());
  return all;
}

Result<std::vector<PlanStage>> ParsePath(std::string_view text, uint32_t layer_count,
                                         std::span<const PlanNode> nodes) {
  std::string split;
  const auto is_name = [&](std::string_view name) {
    return std::ranges::any_of(
        nodes, [&](const PlanNode& node) { return node.name == name || node.id.ToText() == name; });
  };
  for (std::string_view rest = text; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    std::string part(Trim(rest.substr(0, comma)));
    const bool goes_on = comma < rest.size();
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const size_t colon = part.find(':');
    // The shorter forms of --prefill and --decode become those of a split: "node" has all layers,
    // "node:0-20" some.
    if (is_name(part) ||
        (part.find('+') != std::string::npos && part.find_first_of("=:") == part.npos)) {
      part += "=0:out";
    } else if (colon != std::string::npos && is_name(Trim(part.substr(0, colon)))) {
      part[colon] = '=';
      std::ranges::replace(part.begin() + static_cast<ptrdiff_t>(colon), part.end(), '-', ':');
    } else if (part.find_first_not_of("0123456789:out ") != std::string::npos &&
               part.find('=') == std::string::npos && !IsGroupWord(part)) {
      return NotFound(fmt::format("no node is called \"{}\"; there are: {}", part.substr(0, colon),
                                  NamesOf(nodes)));
    }
    split += part + (goes_on ? "," : "");
  }
  return std::move(TRY(ParseSplit(split, layer_count, nodes)).stages);
}

// "a+b", or "2*a+b" if their shares differ; then the suffix if nodes own experts.
std::string NameOf(const PlanStage& stage) {
  const bool is_even = std::ranges::all_of(
      stage.shares, [&](uint32_t share) { return share == stage.shares.front(); });
  std::vector<std::string> names;
  for (const PlanNode* node : NodesOf(stage)) {
    const uint32_t share = is_even ? 1 : stage.shares[names.size()];
    names.push_back(share == 1 ? node->name : fmt::format("{}*{}", share, node->name));
  }
  return fmt::format("{}{}", fmt::join(names, "+"),
                     stage.owns_experts ? ExpertsText(stage.replicas) : "");
}

std::string DescribeSlice(const model::Slice& slice) {
  return LayersText(slice.layer_begin, slice.layer_end) + (slice.head ? " and the head" : "");
}

std::string DescribePlan(const Plan& plan) {
  std::vector<std::string> parts;
  for (const PlanStage& stage : plan.stages) {
    parts.push_back(fmt::format("{}: {}", NameOf(stage), DescribeSlice(stage.slice)));
  }
  for (const PlanStage& stage : plan.decode) {
    parts.push_back(fmt::format("{} decodes: {}", NameOf(stage), DescribeSlice(stage.slice)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string SplitText(const Plan& plan) {
  const auto text_of = [](std::span<const PlanStage> stages) {
    std::vector<std::string> parts;
    for (const PlanStage& stage : stages) {
      const model::Slice& slice = stage.slice;
      parts.push_back(fmt::format("{}={}:{}", NameOf(stage), slice.layer_begin,
                                  slice.head ? "out" : fmt::format("{}", slice.layer_end - 1)));
    }
    return fmt::format("{}", fmt::join(parts, ","));
  };
  return text_of(plan.stages) + (plan.decode.empty() ? "" : " decode " + text_of(plan.decode));
}

std::string OptionsText(const Plan& plan) {
  const std::string split = "--split " + SplitText({.stages = plan.stages, .decode = {}});
  if (plan.decode.empty()) return split;
  return split + " --decode " + SplitText({.stages = plan.decode, .decode = {}});
}

}  // namespace aster::plan
