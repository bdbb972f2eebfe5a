// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_deepseek41.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "model/files/support.h"
#include "model/forward/runner_for_test.h"
#include "model/shape/shape_for_test.h"
#include "model/shape/tensors.h"
#include "model/synth/presets.h"

namespace aster::model {
namespace {

using Numbers = std::vector<uint64_t>;

Shape TinyShape41() { return ShapeOfPreset("flash41-shape-tiny").value(); }

// The error if a key of a file has this value.
std::string RefusalOf41(const char* key, const auto& value) {
  gguf::MetadataBuilder metadata = MetadataOf(TinyShape41());
  metadata.Set(fmt::format("deepseek41.{}", key), value);
  const auto shape = ReadBack(metadata);
  return shape.ok() ? std::string() : shape.error().message();
}

template <typename T>
std::vector<T> WithLast(std::vector<T> values, T last) {
  values.back() = last;
  return values;
}

template <typename T>
std::vector<T> Resized(std::vector<T> values, int by) {
  values.resize(values.size() + static_cast<size_t>(by), T{1});
  return values;
}

// A file of this shape whose weights are all zero, without one of its tensors.
std::vector<std::string> ObstaclesWithout(const Shape& shape, std::string_view left_out) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const std::string path = folder.File("model.gguf");
  std::vector<gguf::TensorSpec> tensors;
  for (const TensorSpec& spec : TensorsOf(shape)) {
    if (spec.name != left_out) tensors.push_back({.name = spec.name, .dims = spec.dims});
  }
  gguf::Writer writer = gguf::Writer::Create(path, MetadataOf(shape), tensors).value();
  for (const gguf::TensorSpec& tensor : tensors) {
    const std::vector<uint8_t> zeros(gguf::TensorBytes(tensor.type, tensor.dims).value());
    CHECK(writer.Append(tensor.name, zeros).ok());
  }
  CHECK(writer.Finish().ok());
  return CheckSupport(gguf::ModelFiles::Open(path).value()).obstacles;
}

TEST(DeepSeek41Shape, SurvivesItsMetadata) {
  for (const char* preset : {"flash41-shape-tiny", "flash41-full"}) {
    const Shape shape = ShapeOfPreset(preset).value();
    const auto read = ReadBack(MetadataOf(shape));
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(read->arch, Arch::kDeepSeek41);
    EXPECT_EQ(read->layer_count, shape.layer_count);
    EXPECT_EQ(read->mtp_layers, 0u);
    EXPECT_EQ(read->left_out, shape.left_out);
    EXPECT_EQ(read->sliding_window, shape.sliding_window);
    EXPECT_EQ(read->rope.base, shape.rope.base);
    EXPECT_EQ(read->rope.scaling, RopeScaling::kNone);
    EXPECT_EQ(read->experts.scale, shape.experts.scale);
    EXPECT_EQ(read->experts.limit, shape.experts.limit);
    EXPECT_EQ(read->experts.hash_layers, 0u);
    EXPECT_EQ(read->streams.count, shape.streams.count);
    EXPECT_EQ(read->streams.sinkhorn, shape.streams.sinkhorn);
    EXPECT_EQ(read->residual_width(), shape.streams.count * shape.embedding);
    EXPECT_EQ(read->hidden_width(), shape.hidden_width());
  }
}

TEST(DeepSeek41Shape, ItsRowsSurviveItsMetadata) {
  for (const char* preset : {"flash41-shape-tiny", "flash41-full"}) {
    const Latent latent = ShapeOfPreset(preset)->latent;
    const auto read = ReadBack(MetadataOf(ShapeOfPreset(preset).value()));
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(read->latent.ratios, latent.ratios);
    EXPECT_EQ(read->latent.query_rank, latent.query_rank);
    EXPECT_EQ(read->latent.output_rank, latent.output_rank);
    EXPECT_EQ(read->latent.output_groups, latent.output_groups);
    EXPECT_EQ(read->latent.index_heads, latent.index_heads);
    EXPECT_EQ(read->latent.index_dim, latent.index_dim);
    EXPECT_EQ(read->latent.index_top, latent.index_top);
    EXPECT_EQ(read->latent.rope.base, latent.rope.base);
    EXPECT_EQ(read->latent.rope.scaling, RopeScaling::kYarn);
    EXPECT_EQ(read->latent.rope.factor, latent.rope.factor);
    EXPECT_EQ(read->latent.rope.original_context, latent.rope.original_context);
    EXPECT_TRUE(read->latent.rounded_rows);
    EXPECT_EQ(read->latent.block_layer, latent.block_layer);
    EXPECT_EQ(read->latent.block_rows, latent.block_rows);
    EXPECT_EQ(read->latent.top_blocks, latent.top_blocks);
    // Only a file's tensors have these.
    EXPECT_TRUE(read->latent.makes_rows.empty());
    EXPECT_TRUE(read->latent.chooses_rows.empty());
  }
}

TEST(DeepSeek41Shape, ItsNgramsSurviveItsMetadata) {
  for (const char* preset : {"flash41-shape-tiny", "flash41-full"}) {
    const Shape shape = ShapeOfPreset(preset).value();
    const auto read = ReadBack(MetadataOf(shape));
    ASSERT_TRUE(read.ok()) << read.error().message();
    ASSERT_NE(read->ngrams, nullptr);
    EXPECT_EQ(read->ngrams->layers, shape.ngrams->layers);
    EXPECT_EQ(read->ngrams->length, shape.ngrams->length);
    EXPECT_EQ(read->ngrams->heads, shape.ngrams->heads);
    EXPECT_EQ(read->ngrams->dim, shape.ngrams->dim);
    EXPECT_EQ(read->ngrams->padding, shape.ngrams->padding);
    EXPECT_EQ(read->ngrams->classes, shape.ngrams->classes);
    EXPECT_EQ(read->ngrams->multipliers, shape.ngrams->multipliers);
    EXPECT_EQ(read->ngrams->row_counts, shape.ngrams->row_counts);
    EXPECT_EQ(read->ngrams->first_rows, shape.ngrams->first_rows);
    for (const uint32_t layer : shape.ngrams->layers) EXPECT_TRUE(read->has_ngrams(layer));
  }
}

TEST(DeepSeek41Shape, AMissingKeyIsNamedAndHasNoDefault) {
  const std::set<std::string> optional = {"deepseek41.nextn_predict_layers",
                                          "deepseek41.rope.scaling.type",
                                          "deepseek41.rope.scaling.yarn_beta_fast",
                                          "deepseek41.rope.scaling.yarn_beta_slow",
                                          "deepseek41.expert_gating_func",
                                          "deepseek41.hash_layer_count",
                                          "deepseek41.attention.indexer.candidate_source_layer",
                                          "deepseek41.attention.indexer.candidate_top_k",
                                          "deepseek41.attention.indexer.candidate_block_size"};
  const gguf::MetadataBuilder whole = MetadataOf(TinyShape41());
  for (const char* key :
       {"attention.compress_ratios", "engram.layer_ids", "engram.head_count", "engram.key_length",
        "engram.max_ngram_size", "engram.pad_id", "engram.multipliers", "engram.primes",
        "engram.offsets", "engram.token_map"})
    EXPECT_TRUE(whole.Contains(fmt::format("deepseek41.{}", key))) << key;
  for (const std::string& key : whole.keys()) {
    gguf::MetadataBuilder metadata = whole;
    metadata.Remove(key);
    const auto shape = ReadBack(metadata);
    EXPECT_EQ(shape.ok(), optional.contains(key)) << key;
    if (!shape.ok()) {
      EXPECT_NE(shape.error().message().find(key), std::string::npos) << shape.error().message();
    }
  }
}

// Published files have no key for blocks.
TEST(DeepSeek41Shape, FilesMaySayNothingOfBlocks) {
  gguf::MetadataBuilder metadata = MetadataOf(TinyShape41());
  metadata.RemovePrefix("deepseek41.attention.indexer.candidate_");
  const auto read = ReadBack(metadata);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->latent.block_layer, std::nullopt);
  EXPECT_EQ(read->latent.top_blocks, 2048u);
  EXPECT_EQ(read->latent.block_rows, 8u);
}

TEST(DeepSeek41Shape, NgramsThatCannotBeLookedUpAreRefused) {
  const Ngrams ngrams = *TinyShape41().ngrams;
  const auto refused = [](const char* key, const auto& value) {
    return !RefusalOf41(key, value).empty();
  };
  EXPECT_FALSE(refused("engram.multipliers", ngrams.multipliers));
  for (const int by : {-1, 1}) {
    EXPECT_TRUE(refused("engram.multipliers", Resized(ngrams.multipliers, by))) << by;
    EXPECT_TRUE(refused("engram.primes", Resized(ngrams.row_counts, by))) << by;
    EXPECT_TRUE(refused("engram.offsets", Resized(ngrams.first_rows, by))) << by;
  }
  EXPECT_TRUE(refused("engram.primes", WithLast<uint64_t>(ngrams.row_counts, 0)));
  EXPECT_TRUE(refused("engram.primes", WithLast<uint64_t>(ngrams.row_counts, uint64_t{1} << 40)));
  EXPECT_TRUE(refused("engram.offsets", WithLast<uint64_t>(ngrams.first_rows, ~uint64_t{0})));
  EXPECT_TRUE(refused("engram.token_map", Resized(ngrams.classes, -1)));
  EXPECT_TRUE(refused("engram.max_ngram_size", uint32_t{1}));
  EXPECT_TRUE(refused("engram.max_ngram_size", uint32_t{0}));
  EXPECT_TRUE(refused("engram.max_ngram_size", ngrams.length + 1));
  EXPECT_TRUE(refused("engram.head_count", uint32_t{0}));
  EXPECT_TRUE(refused("engram.head_count", ngrams.heads + 1));
  EXPECT_TRUE(refused("engram.key_length", uint32_t{0}));
}

TEST(DeepSeek41Shape, LayersThatCannotHaveNgramsAreRefused) {
  const Shape shape = TinyShape41();
  const std::vector<uint32_t> layers = shape.ngrams->layers;
  EXPECT_EQ(RefusalOf41("engram.layer_ids", layers), "");
  EXPECT_EQ(RefusalOf41("engram.layer_ids", Numbers(layers.begin(), layers.end())), "");
  EXPECT_NE(RefusalOf41("engram.layer_ids", WithLast(layers, shape.layer_count)), "");
  EXPECT_NE(RefusalOf41("engram.layer_ids", Resized(layers, -1)), "");
  EXPECT_NE(RefusalOf41("engram.layer_ids", std::vector<uint32_t>{}), "");
  if (layers.size() > 1) {
    EXPECT_NE(RefusalOf41("engram.layer_ids", WithLast(layers, layers.front())), "");
  }
}

TEST(DeepSeek41Shape, RatiosAndBlocksThatCannotBeComputedAreRefused) {
  const Shape shape = TinyShape41();
  const std::vector<uint32_t> ratios = shape.latent.ratios;
  EXPECT_EQ(RefusalOf41("attention.compress_ratios", ratios), "");
  EXPECT_NE(RefusalOf41("attention.compress_ratios", WithLast(ratios, kShortRatio))
                .find("0, 1 or 2 is expected"),
            std::string::npos);
  EXPECT_NE(RefusalOf41("attention.compress_ratios", WithLast(ratios, kLongRatio)), "");
  EXPECT_NE(RefusalOf41("attention.compress_ratios", WithLast(ratios, 3u)), "");
  EXPECT_NE(RefusalOf41("attention.compress_ratios", Resized(ratios, -1)), "");
  EXPECT_NE(RefusalOf41("attention.indexer.candidate_source_layer", shape.layer_count), "");
  EXPECT_NE(RefusalOf41("attention.indexer.candidate_top_k", uint32_t{0}), "");
  EXPECT_NE(RefusalOf41("attention.indexer.candidate_block_size", uint32_t{0}), "");
  EXPECT_NE(RefusalOf41("hash_layer_count", uint32_t{1}), "");
}

// A layer with a ratio needs rows of that ratio, and an index that has chosen from them.
TEST(DeepSeek41Shape, RowsThatNoLayerMakesOrChoosesAreRefused) {
  const auto refused = [](const auto& change) {
    Shape shape = SmallDeepSeek41();
    change(shape.latent);
    return !CheckShape(shape).ok();
  };
  EXPECT_FALSE(refused([](Latent&) {}));
  EXPECT_TRUE(refused([](Latent& latent) { latent.makes_rows[1] = 0; }));
  EXPECT_TRUE(refused([](Latent& latent) { latent.makes_rows[3] = 0; }));
  EXPECT_TRUE(refused([](Latent& latent) { latent.makes_rows[0] = 1; }));
  EXPECT_TRUE(refused([](Latent& latent) { latent.chooses_rows[1] = 0; }));
  EXPECT_TRUE(refused([](Latent& latent) { latent.chooses_rows[3] = 0; }));
  EXPECT_TRUE(refused([](Latent& latent) { latent.chooses_rows[0] = 1; }));
}

TEST(DeepSeek41Shape, FilesSayByTheirTensorsWhatLayersDo) {
  const Shape shape = SmallDeepSeek41();
  const ModelFile model(shape, gguf::TensorType::kF32);
  const Support support = CheckSupport(model.files());
  ASSERT_TRUE(support.ok()) << support.obstacles.front();
  EXPECT_EQ(support.shape->latent.makes_rows, shape.latent.makes_rows);
  EXPECT_EQ(support.shape->latent.chooses_rows, shape.latent.chooses_rows);
  EXPECT_EQ(support.shape->latent.block_layer, shape.latent.block_layer);
  for (const uint32_t layer : {1, 2}) EXPECT_EQ(CompressedLayerOf(*support.shape, layer), 1u);
  for (const uint32_t layer : {3, 4}) EXPECT_EQ(CompressedLayerOf(*support.shape, layer), 3u);
  // A layer that chooses from rows also keeps them.
  EXPECT_EQ(CompressedLayerOf(*support.shape, 5), 5u);
}

TEST(DeepSeek41Shape, TheFirstIndexOfSingleTokensChoosesBlocks) {
  Shape shape = SmallDeepSeek41();
  shape.latent.block_layer = std::nullopt;
  const ModelFile model(shape, gguf::TensorType::kF32);
  const Support support = CheckSupport(model.files());
  ASSERT_TRUE(support.ok()) << support.obstacles.front();
  EXPECT_EQ(support.shape->latent.block_layer, 3u);
  EXPECT_EQ(support.shape->latent.top_blocks, 2048u);
}

TEST(DeepSeek41Shape, FilesWithoutWhatLayersNeedAreRefused) {
  const Shape shape = SmallDeepSeek41();
  EXPECT_TRUE(ObstaclesWithout(shape, "").empty());
  for (const char* tensor :
       {"blk.1.attn_compressor_kv.weight", "blk.3.attn_compressor_kv.weight",
        "blk.1.attn_compressor_gate.weight", "blk.1.indexer.attn_q_b.weight",
        "blk.3.indexer.attn_q_b.weight", "blk.5.indexer.attn_q_b.weight",
        "blk.3.indexer.attn_k.weight", "blk.0.engram_embd.weight", "blk.3.engram_wkv.weight"})
    EXPECT_FALSE(ObstaclesWithout(shape, tensor).empty()) << tensor;
}

uint64_t ParametersOf41(const Shape& shape) {
  uint64_t count = 0;
  for (const TensorSpec& spec : TensorsOf(shape)) {
    uint64_t elements = spec.is_table ? 0 : 1;
    for (const uint64_t dim : spec.dims) elements *= dim;
    count += elements;
  }
  return count;
}

TEST(DeepSeek41Shape, ThePublishedShapeHasItsParameters) {
  // Of 749 B parameters 197 B are in its two tables.
  EXPECT_NEAR(static_cast<double>(ParametersOf41(ShapeOfPreset("flash41-full").value())), 748.5e9,
              1e9);
}

}  // namespace
}  // namespace aster::model
