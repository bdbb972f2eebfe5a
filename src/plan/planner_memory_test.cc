// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Plans of groups fit into the memory of their nodes, to the byte: a node counts the bytes of its
// part of each tensor by the same rule as when it loads them.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "model/files/support.h"
#include "model/forward/runner_for_test.h"
#include "model/memory/weight_sizes.h"
#include "model/shape/tensors.h"
#include "model/synth/presets.h"
#include "plan/model_for_test.h"
#include "plan/planner.h"

namespace aster::plan {
namespace {

constexpr uint64_t kKvBytes = uint64_t{1} << 20;

// The bytes that a node counts before it loads a slice (stage::SliceBytes).
uint64_t BytesOf(const gguf::ModelFiles& files, const model::Shape& shape,
                 const model::Slice& slice) {
  uint64_t bytes = 0;
  for (const model::TensorSpec& spec : model::TensorsOf(shape)) {
    const gguf::Tensor* const tensor = model::FindTensor(files, spec);
    if (tensor == nullptr || !slice.Needs(shape, spec)) continue;
    const bool is_head = slice.head && shape.tied_head && spec.name == "token_embd.weight";
    const uint64_t whole =
        model::TensorBytesIn(model::Place::kMemory, spec, tensor->type, is_head).value();
    bytes += model::BytesOfPart(slice.part, shape, spec, whole);
  }
  return bytes;
}

// The memory of each node of a plan. Overlapping layers of one node count once.
std::map<wire::NodeId, uint64_t> Taken(const model::ModelFile& model, const model::Shape& shape,
                                       const Plan& plan) {
  std::map<wire::NodeId, uint64_t> taken;
  std::map<wire::NodeId, model::Slice> alone;
  for (const PlanStage& stage : plan.AllStages()) {
    if (!stage.is_group()) {
      auto [found, is_new] = alone.try_emplace(stage.node.id, stage.slice);
      model::Slice& held = found->second;
      held.layer_begin = std::min(held.layer_begin, stage.slice.layer_begin);
      held.layer_end = std::max(held.layer_end, stage.slice.layer_end);
      held.embedding |= stage.slice.embedding;
      held.head |= stage.slice.head;
      continue;
    }
    std::vector<model::Slice> slices = stage.Slices();
    for (size_t i = 0; i < slices.size(); ++i) {
      EXPECT_TRUE(model::CheckGroup(slices[i].part, shape).ok());
      // All of the most used experts may be another node's.
      std::vector<uint16_t>& replicated = slices[i].part.replicated;
      if (stage.replicas > 0) {
        const model::PartRange own = model::RangeOf(slices[i].part, shape.experts.count);
        std::vector<uint16_t> ids;
        for (uint32_t id = 0; id < shape.experts.count; ++id) {
          if (id < own.begin || id >= own.end) ids.push_back(static_cast<uint16_t>(id));
        }
        for (uint32_t id = own.begin; id < own.end; ++id) ids.push_back(static_cast<uint16_t>(id));
        ids.resize(stage.replicas);
        std::ranges::sort(ids);
        for (uint32_t layer = 0; layer < shape.layer_count; ++layer)
          replicated.insert(replicated.end(), ids.begin(), ids.end());
      }
      const wire::NodeId& node = i == 0 ? stage.node.id : stage.members[i - 1].id;
      taken[node] += BytesOf(model.files(), shape, slices[i]) + kKvBytes;
    }
  }
  for (const auto& [node, slice] : alone)
    taken[node] += BytesOf(model.files(), shape, slice) + kKvBytes;
  return taken;
}

class MemoryOfPlans : public testing::TestWithParam<const char*> {
 protected:
  static model::Shape ShapeOf(const std::string& name) {
    if (name == "llama") {
      // Neither the width nor the vocabulary is a whole number of panels for each share.
      model::Shape shape = model::SmallShape(model::Arch::kLlama);
      shape.feed_forward = 416;
      shape.vocab_size = 330;
      return shape;
    }
    if (name == "qwen3moe") return model::SmallShape(model::Arch::kQwen3Moe);
    if (name == "deepseek2") return model::SmallShape(model::Arch::kDeepSeek2);
    if (name == "gemma3") return model::SmallShape(model::Arch::kGemma3);
    return model::ShapeOfPreset(name).value();
  }
};

TEST_P(MemoryOfPlans, IsEnough) {
  const model::Shape wished = ShapeOf(GetParam());
  const model::ModelFile model(wished, gguf::TensorType::kF16);
  const model::Shape shape = *model::CheckSupport(model.files()).shape;
  const ModelLoad load = LoadOf(model.files(), {}, 0, 100).value();
  const uint64_t all = BytesOf(model.files(), shape, model::Slice::Whole(shape)) + kKvBytes;
  std::vector<LinkAbility> links;
  for (size_t from = 0; from < 3; ++from) {
    for (size_t to = 0; to < 3; ++to) {
      if (from != to)
        links.push_back({.from = from, .to = to, .round_trip_s = 1e-9, .bytes_per_s = 1e12});
    }
  }
  const std::vector<PlanNode> names = TestNodes(3);
  size_t groups = 0;
  for (const auto& rates : {std::array{1.0, 1.0, 1.0}, std::array{3.0, 2.0, 1.0}}) {
    for (uint64_t step = 30; step <= 110; ++step) {
      std::vector<NodeAbility> nodes;
      for (size_t i = 0; i < rates.size(); ++i) {
        nodes.push_back({.node = names[i],
                         .memory_bytes = all * step / 100 + step * i,
                         .multiply_flops_per_s = 1e9 * rates[i],
                         .memory_bytes_per_s = 1e7 * rates[i]});
      }
      const auto split =
          PlanSplit(nodes, links, load, {.reserved_bytes = kKvBytes, .may_choose = true});
      if (!split.ok()) continue;
      for (const Alternative& of : split->alternatives) {
        if (!of.plan || !of.plan->has_groups()) continue;
        ++groups;
        for (const auto& [node, bytes] : Taken(model, shape, *of.plan)) {
          const auto able =
              std::ranges::find(nodes, node, [](const NodeAbility& each) { return each.node.id; });
          EXPECT_LE(bytes, able->memory_bytes)
              << fmt::format("{} of {}: {}", able->node.name, of.kind, SplitText(*of.plan));
        }
      }
    }
  }
  EXPECT_GT(groups, 0u);
}

INSTANTIATE_TEST_SUITE_P(Models, MemoryOfPlans,
                         testing::Values("llama", "qwen3moe", "deepseek2", "gemma3",
                                         "flash-shape-tiny"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace aster::plan
