// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/model_load.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "engine/cost.h"
#include "engine/local_model.h"
#include "model/forward/runner_for_test.h"
#include "model/synth/presets.h"
#include "plan/model_for_test.h"

namespace aster::plan {
namespace {

// The bytes that two nodes send each other of rows that a Q8_0 matrix reads: blocks of 32 with a
// scale, if each node has whole pairs of them.
uint64_t OfBlocks(uint64_t columns) {
  return columns % 128 == 0 ? columns + columns / 8 : 4 * columns;
}

TEST(ModelLoad, OfAMixture) {
  const ModelLoad load = LoadOf(TestModel::WithExperts().files(), {}, 1024, 100).value();
  const ModelLoad::Together::Experts& experts = load.together.experts;
  EXPECT_EQ(experts.count, 4u);
  EXPECT_EQ(experts.used, 2u);
  EXPECT_FALSE(experts.has_shared);
  const model::Shape& shape = TestModel::WithExperts().shape();
  // Gate, up and down.
  const uint64_t bytes = 3ull * kTestLayers * 4 * shape.embedding * 64 * sizeof(float);
  EXPECT_EQ(experts.bytes, bytes);
  double reads = 0;
  for (const ModelLoad::Layer& layer : load.layers) reads += layer.read_bytes;
  reads += load.kv_read_bytes * kTestLayers;
  EXPECT_DOUBLE_EQ(experts.reads, static_cast<double>(bytes) / 2 / reads);
  EXPECT_EQ(experts.sum_bytes, shape.embedding * sizeof(int64_t));
  EXPECT_EQ(LoadOf(TestModel::Get().files(), {}, 1024, 100)->together.experts.count, 0u);
}

TEST(ModelLoad, OfAModel) {
  const ModelLoad load = LoadOf(TestModel::Get().files(), {}, 1024, 100).value();
  const model::Shape& shape = TestModel::Get().shape();
  ASSERT_EQ(load.layers.size(), kTestLayers);
  uint64_t bytes = load.embedding_bytes + (load.tied_head ? 0 : load.head_bytes);
  for (const ModelLoad::Layer& layer : load.layers) bytes += layer.bytes;
  EXPECT_EQ(load.tied_head, shape.tied_head);
  uint64_t expected = 0;
  for (const auto& entry : TestModel::Get().files().entries()) {
    const bool is_norm_of_tied = load.tied_head && entry.tensor->name == "output_norm.weight";
    if (!is_norm_of_tied) expected += entry.tensor->data.size();
  }
  EXPECT_EQ(bytes, expected);
  // Queries, keys and values, output; gate, up and down; and attention to 100 others.
  const double q = shape.head_count * shape.head_dim;
  const double kv = shape.kv_head_count * shape.head_dim;
  const double weights =
      shape.embedding * (2 * q + 2 * kv) + 3.0 * shape.embedding * shape.feed_forward;
  EXPECT_DOUBLE_EQ(load.flops_per_layer, 2 * weights + 4 * 100 * q);
  // In a group all columns that are not the node's own.
  EXPECT_EQ(load.together.heads, shape.kv_head_count);
  EXPECT_EQ(load.together.gathered_bytes, 4 * (q + 2.0 * shape.embedding + shape.feed_forward));
  // A node has the KV rows of its heads, of 16 bits; weights have 32.
  const double kv_read = 100 * 2 * 2 * kv;
  const double head_share =
      (4 * shape.embedding * (q + 2 * kv) + kv_read) / (4 * weights + kv_read);
  EXPECT_NEAR(load.together.by_heads, head_share, 0.01);
  EXPECT_LT(load.together.whole, 0.01);
  EXPECT_EQ(load.kv_bytes_per_layer,
            TestModel::Get().MakeWhole()->layout().BytesFor({0, 1}, 1024, 0));
}

// A token has a row for each of its experts, and reads the bytes of these experts only.
TEST(ModelLoad, OfExpertsInAGroup) {
  const model::Shape shape = model::SmallShape(model::Arch::kQwen3Moe);
  const model::ModelFile model(shape, gguf::TensorType::kQ8_0);
  const ModelLoad load = LoadOf(model.files(), {}, 1024, 100).value();
  const uint64_t q = uint64_t{shape.head_count} * shape.head_dim;
  const uint64_t wide = uint64_t{shape.experts.used} * shape.experts.feed_forward;
  EXPECT_EQ(load.together.heads, shape.kv_head_count);
  EXPECT_EQ(load.together.gathered_bytes, OfBlocks(q) + 8 * shape.embedding + wide + wide / 8);
  // Routers, in floats, are on every node.
  EXPECT_GE(load.together.whole_bytes,
            uint64_t{shape.layer_count} * 4 * shape.embedding * shape.experts.count);
  EXPECT_LT(load.together.whole, 0.05);
}

TEST(ModelLoad, OfLatentHeadsInAGroup) {
  const model::Shape shape = model::ShapeOfPreset("flash-shape-tiny").value();
  const model::ModelFile model(shape, gguf::TensorType::kQ8_0);
  const ModelLoad::Together load = LoadOf(model.files(), {}, 1024, 100).value().together;
  const uint64_t low = uint64_t{shape.latent.output_groups} * shape.latent.output_rank;
  const uint64_t wide = uint64_t{shape.experts.used + 1} * shape.experts.feed_forward;
  EXPECT_EQ(load.heads, shape.latent.output_groups);
  EXPECT_EQ(load.gathered_bytes, low + low / 8 + 8 * shape.embedding + wide + wide / 8);
  // Compressors, the index, the mixing of streams and the rows of the KV cache.
  EXPECT_GT(load.whole, 0.2);
  EXPECT_LT(load.whole + load.by_heads, 1);
  EXPECT_FALSE(load.is_new);
}

// The first of three layers is dense; every node has the rows that all heads share.
TEST(ModelLoad, OfMlaInAGroup) {
  const model::Shape shape = model::SmallShape(model::Arch::kDeepSeek2);
  const model::ModelFile model(shape, gguf::TensorType::kQ8_0);
  const ModelLoad load = LoadOf(model.files(), {}, 1024, 100).value();
  const ModelLoad::Together& together = load.together;
  const uint64_t attended = uint64_t{shape.head_count} * shape.mla.value_dim;
  const uint64_t wide = uint64_t{shape.experts.used + 1} * shape.experts.feed_forward;
  EXPECT_EQ(together.heads, shape.head_count);
  EXPECT_TRUE(together.is_new);
  EXPECT_EQ(together.gathered_bytes, (3 * (OfBlocks(attended) + 8 * shape.embedding) +
                                      OfBlocks(shape.feed_forward) + 2 * OfBlocks(wide)) /
                                         3);
  EXPECT_EQ(together.gathers, 4);
  EXPECT_EQ(together.experts.gathers, 10.0 / 3);
  // With several shared experts a node's columns are in several places.
  model::Shape two = shape;
  two.experts.shared = 2;
  const model::ModelFile other(two, gguf::TensorType::kQ8_0);
  const uint64_t chosen = uint64_t{two.experts.used} * two.experts.feed_forward;
  const uint64_t shared = uint64_t{2} * two.experts.feed_forward;
  EXPECT_EQ(
      LoadOf(other.files(), {}, 1024, 100)->together.gathered_bytes,
      together.gathered_bytes + (2 * (OfBlocks(chosen) + 4 * shared) - 2 * OfBlocks(wide)) / 3);
  EXPECT_GT(together.whole_bytes, load.kv_bytes_per_layer * shape.layer_count);
}

// The planned load is what is loaded and read. Small products are left out.
TEST(ModelLoad, OfEveryArchitectureIsWhatIsComputed) {
  for (const model::Arch arch : model::EveryArch()) {
    SCOPED_TRACE(ArchName(arch));
    const model::Shape shape = model::SmallShape(arch);
    const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
    const auto model = engine::LocalModel::Load(file.files(), {}).value();
    const ModelLoad load = LoadOf(file.files(), {}, 1024, 300).value();
    double read_bytes = static_cast<double>(load.head_bytes - load.mtp_bytes);
    for (const ModelLoad::Layer& layer : load.layers) read_bytes += layer.read_bytes;
    const engine::WeightCost cost = engine::CostOf(model->weights(), 1);
    // The compression of rows and the mixing of streams are left out; V4.1 has more of both.
    const bool is_latent = shape.is_latent();
    const double left_out = shape.shares_compressed_rows() ? 0.25 : is_latent ? 0.15 : 0.05;
    EXPECT_NEAR(read_bytes / cost.step_bytes, 1, left_out);
    const double products = (load.matrix_flops + load.head_flops) / 2;
    const double computed = cost.layer_multiply_adds + cost.head_multiply_adds;
    EXPECT_NEAR(products / computed, 1, is_latent ? 0.7 : 0.05);
    EXPECT_DOUBLE_EQ(load.KvReadBytes(300) * shape.layer_count,
                     engine::KvReadBytes(shape, model->layout(), {0, shape.layer_count}, 299));
  }
}

}  // namespace
}  // namespace aster::plan
