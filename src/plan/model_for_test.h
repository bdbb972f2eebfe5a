// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A small model whose slices are packed once for all tests of a program, nodes that have them, and
// the answers of one machine alone. Only for tests.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "engine/generate.h"
#include "engine/local_model.h"
#include "model/forward/runner_for_test.h"
#include "plan/plan.h"
#include "plan/route_model.h"

namespace aster::plan {

inline constexpr uint32_t kTestLayers = 4;

class TestModel {
 public:
  static TestModel& Get() {
    static TestModel model(DenseShape(), kFingerprint);
    return model;
  }
  // A model with four experts, of which each token uses two.
  static TestModel& WithExperts() {
    static TestModel model(MixtureShape(), kMixtureFingerprint);
    return model;
  }
  // A model of another family. Not for concurrent use.
  static TestModel& OfFamily(model::Arch arch) {
    auto& model = families()[arch];
    // tidy: allow(ownership) nothing else calls the constructor
    if (!model) model.reset(new TestModel(FamilyShape(arch), FamilyFingerprint(arch)));
    return *model;
  }
  // The test model with this fingerprint, or null.
  static TestModel* Of(const Hash128& fingerprint) {
    if (fingerprint == kFingerprint) return &Get();
    if (fingerprint == kMixtureFingerprint) return &WithExperts();
    for (const auto& [arch, model] : families()) {
      if (fingerprint == FamilyFingerprint(arch)) return model.get();
    }
    return nullptr;
  }

  const gguf::ModelFiles& files() const { return file_.files(); }
  const model::Shape& shape() { return Packed(model::Slice{0, kTestLayers, true, true}).shape(); }
  RouteModel route_model() { return {.shape = shape(), .fingerprint = fingerprint_}; }

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
  static constexpr Hash128 kMixtureFingerprint{0x1234, 0x5679};

 private:
  static model::Shape DenseShape() { return WithHeads(model::SmallShape(model::Arch::kLlama)); }
  static model::Shape MixtureShape() {
    model::Shape shape = WithHeads(model::SmallShape(model::Arch::kQwen3Moe));
    shape.experts.count = 4;
    shape.experts.used = 2;
    shape.experts.feed_forward = 64;
    return shape;
  }
  // Four layers too, of whatever kinds, and with experts as small.
  static model::Shape FamilyShape(model::Arch arch) {
    if (arch == model::Arch::kDeepSeek4) return model::SmallDeepSeek4({0, 4, 128, 4});
    if (arch == model::Arch::kDeepSeek41) return SmallV41();
    model::Shape shape = model::SmallShape(arch);
    shape.layer_count = kTestLayers;
    if (shape.experts.count > 0) {
      shape.experts.count = 4;
      shape.experts.used = 2;
      shape.experts.groups = std::min(shape.experts.groups, 2u);
      shape.experts.used_groups = std::min(shape.experts.used_groups, 1u);
      shape.experts.feed_forward = 64;
    }
    if (shape.is_gemma4()) shape.kinds.sharing = 1;
    if (shape.arch == model::Arch::kGlmDsa) shape.index.own = {1, 0, 1, 0};
    if (shape.arch == model::Arch::kDeepSeek32) shape.index.own = {1, 1, 1, 1};
    return shape;
  }
  // Two layers make compressed rows, of two tokens and of one, and another keeps those.
  static model::Shape SmallV41() {
    model::Shape shape = model::SmallDeepSeek41();
    shape.layer_count = kTestLayers;
    shape.latent.ratios = {0, 2, 1, 1};
    shape.latent.makes_rows = {0, 1, 1, 0};
    shape.latent.chooses_rows = {0, 1, 1, 1};
    shape.latent.block_layer = 2;
    shape.ngrams = model::MakeNgrams(
        {.layers = {0, 2}, .length = 3, .heads = 2, .dim = 32, .padding = 2}, shape.vocab_size, 60);
    return shape;
  }
  static Hash128 FamilyFingerprint(model::Arch arch) {
    return {0x1235, static_cast<uint64_t>(arch)};
  }
  static std::map<model::Arch, std::unique_ptr<TestModel>>& families() {
    static std::map<model::Arch, std::unique_ptr<TestModel>> families;
    return families;
  }
  static model::Shape WithHeads(model::Shape shape) {
    shape.layer_count = kTestLayers;
    shape.feed_forward = 256;
    shape.head_count = 4;
    shape.kv_head_count = 2;
    shape.head_dim = 32;
    shape.rope.dimensions = 32;
    shape.embedding = 128;
    return shape;
  }
  TestModel(const model::Shape& shape, const Hash128& fingerprint)
      : file_(shape, gguf::TensorType::kF32), fingerprint_(fingerprint) {}

  const engine::LocalModel& Packed(const model::Slice& slice) {
    const auto known = std::ranges::find_if(
        packed_, [&](const auto& packed) { return packed->weights().slice == slice; });
    if (known != packed_.end()) return **known;
    engine::LocalModelOptions options;
    options.threads = 1;
    options.slice = slice;
    return *packed_.emplace_back(engine::LocalModel::Load(files(), options).value());
  }

  model::ModelFile file_;
  const Hash128 fingerprint_;
  std::vector<std::unique_ptr<engine::LocalModel>> packed_;
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
