// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A small model whose slices are packed once for all tests of a program, nodes that have them, and
// what one machine alone answers. Only for tests.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "engine/generate.h"
#include "engine/local_model.h"
#include "model/runner_for_test.h"
#include "plan/plan.h"
#include "plan/route_model.h"

namespace aster::plan {

inline constexpr uint32_t kTestLayers = 4;

class TestModel {
 public:
  static TestModel& Get() {
    static TestModel model;
    return model;
  }

  const gguf::ModelFiles& files() const { return file_.files(); }
  const model::Shape& shape() { return Packed(model::Slice{0, kTestLayers, true, true}).shape(); }
  RouteModel route_model() { return {.shape = shape(), .fingerprint = kFingerprint}; }

  std::unique_ptr<engine::LocalModel> Make(const model::Slice& slice,
                                           engine::LocalModelOptions options) {
    options.threads = 1;
    options.slice = slice;
    return engine::LocalModel::ShareWeights(Packed(slice), options).value();
  }
  std::unique_ptr<engine::LocalModel> MakeWhole(model::MemoryOptions memory = {}) {
    engine::LocalModelOptions options;
    options.memory = memory;
    options.memory_bytes = uint64_t{1} << 28;
    return Make(model::Slice{0, kTestLayers, true, true}, options);
  }

  static constexpr Hash128 kFingerprint{0x1234, 0x5678};

 private:
  static model::Shape SmallShape() {
    model::Shape shape = model::SmallShape(model::Arch::kLlama);
    shape.layer_count = kTestLayers;
    shape.feed_forward = 256;
    shape.head_count = 4;
    shape.kv_head_count = 2;
    shape.head_dim = 32;
    shape.rope.dimensions = 32;
    shape.embedding = 128;
    return shape;
  }
  TestModel() : file_(SmallShape(), gguf::TensorType::kF32) {}

  const engine::LocalModel& Packed(const model::Slice& slice) {
    const auto key = std::tuple(slice.layer_begin, slice.layer_end, slice.embedding, slice.head,
                                slice.part.index, slice.part.shares);
    auto& packed = packed_[key];
    if (!packed) {
      engine::LocalModelOptions options;
      options.threads = 1;
      options.slice = slice;
      packed = engine::LocalModel::Load(files(), options).value();
    }
    return *packed;
  }

  model::ModelFile file_;
  using Key = std::tuple<uint32_t, uint32_t, bool, bool, uint32_t,
                         std::array<uint32_t, model::GroupPart::kMostParts>>;
  std::map<Key, std::unique_ptr<engine::LocalModel>> packed_;
};

inline wire::NodeId TestNode(uint64_t number) { return {Hash128{number, number << 56}}; }

inline std::vector<PlanNode> TestNodes(size_t count) {
  std::vector<PlanNode> nodes;
  for (size_t i = 0; i < count; ++i) {
    nodes.push_back({.id = TestNode(i + 1),
                     .name = std::string(1, static_cast<char>('a' + i)),
                     .addresses = {}});
  }
  return nodes;
}

}  // namespace aster::plan
