// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/cost.h"

#include <gtest/gtest.h>

#include "engine/local_model.h"
#include "model/forward/runner_for_test.h"

namespace aster::engine {
namespace {

std::unique_ptr<LocalModel> Loaded(const model::ModelFile& file,
                                   const LocalModelOptions& options = {}) {
  return LocalModel::Load(file.files(), options).value();
}

// Multiply-adds of a dense layer.
double LayerProducts(const model::Shape& shape) {
  const double embedding = shape.embedding;
  const double heads = static_cast<double>(shape.head_count) * shape.head_dim;
  const double kv_heads = static_cast<double>(shape.kv_head_count) * shape.head_dim;
  return embedding * (2 * heads + 2 * kv_heads + 3.0 * shape.feed_forward);
}

TEST(CostTest, ADenseModelReadsAllItsWeightsAtEveryStep) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
  const auto model = Loaded(file);
  for (const uint32_t rows : {1, 8}) {
    const WeightCost cost = CostOf(model->weights(), rows);
    EXPECT_DOUBLE_EQ(cost.step_bytes, static_cast<double>(model->packed_bytes()));
    EXPECT_DOUBLE_EQ(cost.layer_multiply_adds, shape.layer_count * LayerProducts(shape));
    EXPECT_DOUBLE_EQ(cost.head_multiply_adds,
                     static_cast<double>(shape.vocab_size) * shape.embedding);
  }
}

TEST(CostTest, ExpertsCountAsFarAsTheyAreUsed) {
  const model::Shape shape = model::SmallShape(model::Arch::kQwen3Moe);
  const model::ModelFile file(shape, gguf::TensorType::kQ8_0);
  const auto model = Loaded(file);
  const WeightCost one = CostOf(model->weights(), 1);
  EXPECT_LT(one.step_bytes, static_cast<double>(model->packed_bytes()));
  // With many rows all experts are used.
  EXPECT_NEAR(CostOf(model->weights(), 200).step_bytes / model->packed_bytes(), 1, 1e-6);
  // Three of eight experts.
  const double expert = 3.0 * shape.embedding * shape.experts.feed_forward;
  model::Shape without = shape;
  without.feed_forward = 0;
  const double router = shape.embedding * 8.0;
  const double at_least = shape.layer_count * (LayerProducts(without) + 3 * expert);
  EXPECT_GE(one.layer_multiply_adds, at_least);
  EXPECT_LE(one.layer_multiply_adds, at_least + shape.layer_count * router);
}

TEST(CostTest, FloatsAreNoIntegerProducts) {
  const model::ModelFile file(model::SmallShape(model::Arch::kLlama), gguf::TensorType::kF16);
  const WeightCost cost = CostOf(Loaded(file)->weights(), 1);
  EXPECT_EQ(cost.layer_multiply_adds, 0);
  EXPECT_GT(cost.step_bytes, 0);
}

TEST(CostTest, TheWindowBoundsWhatIsRead) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const auto layout = model::MakeMemoryLayout(shape, {}, Hash128{1, 2}).value();
  // Keys and values in f16.
  const double row = 2.0 * 2.0 * shape.kv_head_count * shape.head_dim * shape.layer_count;
  EXPECT_DOUBLE_EQ(KvReadBytes(shape, layout, layout.all_layers(), 0), row);
  EXPECT_DOUBLE_EQ(KvReadBytes(shape, layout, layout.all_layers(), 999), 1000 * row);
  const auto windowed =
      model::MakeMemoryLayout(shape, {.window = 100, .sinks = 4}, Hash128{1, 2}).value();
  EXPECT_DOUBLE_EQ(KvReadBytes(shape, windowed, windowed.all_layers(), 50), 51 * row);
  EXPECT_DOUBLE_EQ(KvReadBytes(shape, windowed, windowed.all_layers(), 5000), 104 * row);
}

// A token reads the compressed rows that an index has chosen, and all rows of the index.
TEST(CostTest, AnIndexBoundsWhatIsRead) {
  const model::Shape shape = model::SmallDeepSeek4({0, model::kShortRatio, model::kLongRatio});
  const auto layout =
      model::MakeMemoryLayout(shape, model::Narrowed({}, shape), Hash128{1, 2}).value();
  const auto row_bytes = [&](uint32_t layer, uint32_t stream) {
    return static_cast<double>(layout.streams(layer)[stream].codec->row_bytes());
  };
  const auto read = [&](uint32_t layer, uint32_t position) {
    return KvReadBytes(shape, layout, {layer, layer + 1}, position);
  };
  EXPECT_DOUBLE_EQ(read(0, 5000), shape.sliding_window * row_bytes(0, model::kWindowStream));
  EXPECT_DOUBLE_EQ(read(1, 5000 + 128) - read(1, 5000), 32 * row_bytes(1, model::kIndexStream));
  EXPECT_DOUBLE_EQ(read(2, 5000 + 128) - read(2, 5000), row_bytes(2, model::kCompressedStream));
  EXPECT_GT(read(1, 5000), shape.latent.index_top * row_bytes(1, model::kCompressedStream));
}

// The states and the convolution's inputs, however long the text is.
TEST(CostTest, StatesAreReadOnce) {
  const model::Shape shape = model::SmallShape(model::Arch::kQwen35);
  const auto layout = model::MakeMemoryLayout(shape, {}, Hash128{1, 2}).value();
  const model::Recurrence& states = shape.recurrence;
  const auto inputs = static_cast<double>(
      layout.streams(0)[model::kStateInputStream].codec->row_bytes() * states.taps);
  const double bytes = 4.0 * states.values() * states.key_dim + inputs;
  ASSERT_TRUE(shape.has_state(0));
  for (const uint32_t position : {10u, 500u, 50'000u})
    EXPECT_DOUBLE_EQ(KvReadBytes(shape, layout, {0, 1}, position), bytes);
}

}  // namespace
}  // namespace aster::engine
