// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/drafters/block_drafter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/forward/runner_for_test.h"
#include "model/reference/reference_deepseek4_for_test.h"
#include "model/reference/reference_math_for_test.h"

namespace aster::model {
namespace {

using gguf::TensorType;
using reference::Row;
using Rows = std::vector<Row>;

// A drafter that knows only some of the model's tokens, and has a head of its own for them.
struct Kind {
  Arch arch;
  bool has_pairs = true;
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << ArchName(kind.arch) << (kind.has_pairs ? "" : " without pairs");
}

Shape SmallTarget(Arch arch) {
  return arch == Arch::kDeepSeek4 ? SmallDeepSeek4({0, kShortRatio, 0, kLongRatio})
                                  : SmallShape(arch);
}

BlockShape DrafterFor(const Shape& model, bool has_pairs) {
  BlockShape shape = PresetDrafterFor(model);
  shape.layers.layer_count = 2;
  if (shape.layers.is_latent()) shape.layers.latent.ratios.resize(2);
  shape.mask = 299;
  if (has_pairs) return shape;
  shape.pair_rank = 0;
  shape.has_confidence = shape.is_about_next = false;
  return shape;
}

// The reference, by the drafter's formulas in double precision.
class Textbook {
 public:
  Textbook(const gguf::ModelFiles& model, const gguf::ModelFiles& drafter, const BlockShape& shape,
           const MemoryOptions& memory)
      : model_(model),
        drafter_(drafter),
        model_weights_(model),
        drafter_weights_(drafter),
        shape_(shape),
        layers_(shape.layers),
        memory_(memory) {}

  // Logits of every draft token if `tokens` are drafted one after the other; and confidences.
  Rows Logits(const std::vector<float>& tapped, std::span<const int32_t> tokens,
              std::vector<double>& confidences) const {
    const Rows rows = layers_.is_latent()
                          ? DeepSeek4ReferenceBlock(drafter_, layers_, memory_, Context(tapped),
                                                    Embedded(tokens[0]))
                          : Dense(Context(tapped), Embedded(tokens[0]));
    const size_t skipped = shape_.is_about_next ? 0 : 1;
    Rows all;
    for (size_t i = 0; i < shape_.drafts(); ++i) {
      Row state = rows[skipped + i];
      Row normed = state;
      reference::Normalise(normed, Of("output_norm.weight"), layers_.norm_epsilon);
      Row logits = reference::Multiply(model_weights_[HeadName()], normed, layers_.vocab_size);
      if (shape_.pair_rank > 0) {
        const Row pair = RowOf(Of("markov_w1.weight"), tokens[i], shape_.pair_rank);
        reference::Add(logits,
                       reference::Multiply(Of("markov_w2.weight"), pair, layers_.vocab_size));
        Row both = layers_.is_latent() ? state : normed;
        both.insert(both.end(), pair.begin(), pair.end());
        const double score = reference::Multiply(Of("conf_proj.weight"), both, 1)[0];
        confidences.push_back(1 / (1 + std::exp(-score)));
      }
      all.push_back(std::move(logits));
    }
    return all;
  }

 private:
  const std::vector<float>& Of(const std::string& name) const { return drafter_weights_[name]; }
  std::string HeadName() const {
    return model_.FindTensor("output.weight") == nullptr ? "token_embd.weight" : "output.weight";
  }
  static Row RowOf(const std::vector<float>& table, int32_t index, size_t width) {
    const auto first = table.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(index) * width);
    return {first, first + static_cast<ptrdiff_t>(width)};
  }

  Rows Context(const std::vector<float>& tapped) const {
    const size_t width = shape_.taps.size() * layers_.embedding;
    Rows rows;
    for (size_t i = 0; i < tapped.size() / width; ++i) {
      Row row = reference::Multiply(Of("fc.weight"), RowOf(tapped, static_cast<int32_t>(i), width),
                                    layers_.embedding);
      reference::Normalise(row, Of("enc.output_norm.weight"), layers_.norm_epsilon);
      rows.push_back(std::move(row));
    }
    return rows;
  }

  Rows Embedded(int32_t token) const {
    const std::vector<float>& table = model_weights_["token_embd.weight"];
    Rows rows(shape_.block, RowOf(table, shape_.mask, layers_.embedding));
    rows[0] = RowOf(table, token, layers_.embedding);
    return rows;
  }

  // RoPE applies to keys; all rows of the block see everything.
  Rows Dense(const Rows& context, Rows block) const {
    const size_t dim = layers_.head_dim, kv_width = layers_.kv_head_count * dim;
    for (uint32_t layer = 0; layer < layers_.layer_count; ++layer) {
      const auto weights = [&](std::string_view name) -> const std::vector<float>& {
        return Of(fmt::format("blk.{}.{}.weight", layer, name));
      };
      Rows keys, values;
      const auto keep = [&](const Row& x) {
        Row key = reference::Multiply(weights("attn_k"), x, kv_width);
        for (size_t head = 0; head < layers_.kv_head_count; ++head)
          Finish(std::span(key).subspan(head * dim, dim), weights("attn_k_norm"), keys.size());
        keys.push_back(std::move(key));
        values.push_back(reference::Multiply(weights("attn_v"), x, kv_width));
      };
      for (const Row& row : context) keep(row);
      Rows normed = block;
      for (Row& row : normed) {
        reference::Normalise(row, weights("attn_norm"), layers_.norm_epsilon);
        keep(row);
      }
      for (size_t i = 0; i < block.size(); ++i) {
        Row query = reference::Multiply(weights("attn_q"), normed[i], layers_.head_count * dim);
        Row out;
        for (size_t head = 0; head < layers_.head_count; ++head) {
          const std::span<double> own(query.data() + head * dim, dim);
          Finish(own, weights("attn_q_norm"), context.size() + i);
          const size_t kv = head / (layers_.head_count / layers_.kv_head_count);
          const Row seen = Seen(own, kv, keys, values);
          out.insert(out.end(), seen.begin(), seen.end());
        }
        reference::Add(block[i],
                       reference::Multiply(weights("attn_output"), out, layers_.embedding));
        Row x = block[i];
        reference::Normalise(x, weights("ffn_norm"), layers_.norm_epsilon);
        Row gate = reference::Multiply(weights("ffn_gate"), x, layers_.feed_forward);
        const Row up = reference::Multiply(weights("ffn_up"), x, layers_.feed_forward);
        for (size_t j = 0; j < gate.size(); ++j) gate[j] *= up[j] / (1 + std::exp(-gate[j]));
        reference::Add(block[i], reference::Multiply(weights("ffn_down"), gate, layers_.embedding));
      }
    }
    return block;
  }

  void Finish(std::span<double> head, const std::vector<float>& norm, size_t position) const {
    reference::Normalise(head, norm, layers_.norm_epsilon);
    reference::Rotate(head, layers_.rope, {}, /*adjacent=*/false, position);
  }

  Row Seen(std::span<const double> query, size_t kv, const Rows& keys, const Rows& values) const {
    const size_t dim = query.size();
    Row out(dim);
    double sum = 0;
    for (size_t at = 0; at < keys.size(); ++at) {
      double score = 0;
      for (size_t i = 0; i < dim; ++i) score += query[i] * keys[at][kv * dim + i];
      const double weight = std::exp(score / std::sqrt(static_cast<double>(dim)));
      sum += weight;
      for (size_t i = 0; i < dim; ++i) out[i] += weight * values[at][kv * dim + i];
    }
    reference::Scale(out, 1 / sum);
    return out;
  }

  const gguf::ModelFiles& model_;
  const gguf::ModelFiles& drafter_;
  reference::Weights model_weights_;
  reference::Weights drafter_weights_;
  const BlockShape& shape_;
  const Shape& layers_;
  const MemoryOptions memory_;
};

class Blocks : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    runner_.forward().Tap(block_.taps);
    kv::PageTable table = runner_.NewTable();
    const Segment segment{
        .table = &table, .tokens = tokens_, .wanted = Wanted::kNone, .tapped_wanted = Wanted::kAll};
    const Output output = runner_.Run({&segment, 1}).value();
    tapped_.assign(output.tapped.begin(), output.tapped.end());
    ASSERT_EQ(tapped_.size(), tokens_.size() * width());
  }

  size_t width() const { return block_.taps.size() * shape_.embedding; }
  kv::PageTable NewTable() { return {layout_, pages_, layout_.all_layers()}; }
  std::span<const int32_t> Tokens(size_t begin, size_t count) const {
    return std::span(tokens_).subspan(begin, count);
  }
  Status Follow(kv::PageTable& table, size_t begin, size_t count) {
    return drafter_.Follow(table, Tokens(begin, count), tapped_.data() + begin * width());
  }
  // The logits of all draft tokens, if the text's tokens come before them.
  std::vector<std::vector<float>> Draft(const kv::PageTable& table, size_t at) {
    EXPECT_TRUE(drafter_.Begin(table, tokens_[at]).ok());
    std::vector<std::vector<float>> all;
    for (size_t i = 0; i < block_.drafts(); ++i) {
      const auto logits = drafter_.LogitsOf(i, tokens_[at + i]);
      EXPECT_TRUE(logits.ok());
      all.emplace_back(logits->begin(), logits->end());
      if (drafter_.Confidence()) confidences_.push_back(*drafter_.Confidence());
    }
    return all;
  }

  const Shape shape_ = SmallTarget(GetParam().arch);
  const BlockShape block_ = DrafterFor(shape_, GetParam().has_pairs);
  const ModelFile model_{shape_, TensorType::kF32};
  const ModelFile file_{block_, TensorType::kF32};
  const MemoryOptions memory_ = Narrowed({.plain_rows = true}, shape_);
  Runner runner_{model_.files(), Slice::Whole(shape_), 2, kernels::FastestIsa(), memory_};
  const std::vector<int32_t> tokens_ = RandomTokens(90, shape_.vocab_size);
  std::vector<float> tapped_;  // [tokens, width]
  const BlockWeights weights_ =
      LoadBlockWeights(file_.files(),
                       BlockShapeOf(file_.files(), model_.files().metadata(), shape_).value(),
                       model_.files().FindTensor("token_embd.weight"), runner_.backend())
          .value();
  const kv::Layout layout_ = MakeBlockLayout(weights_.shape, memory_, Hash128{1, 2}).value();
  kv::Pool pages_{uint64_t{1} << 28};
  BlockDrafter drafter_{weights_, memory_, runner_.weights().head, runner_.backend()};
  std::vector<float> confidences_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, Blocks,
                         testing::Values(Kind{Arch::kDeepSeek4}, Kind{Arch::kQwen3},
                                         Kind{Arch::kLlama}, Kind{Arch::kQwen35},
                                         Kind{Arch::kQwen3, false}));

TEST_P(Blocks, AFileSaysWhatItIs) {
  const BlockShape& read = weights_.shape;
  EXPECT_EQ(read.taps, block_.taps);
  EXPECT_EQ(read.block, block_.block);
  EXPECT_EQ(read.mask, block_.mask);
  EXPECT_EQ(read.is_about_next, block_.is_about_next);
  EXPECT_EQ(read.pair_rank, block_.pair_rank);
  EXPECT_EQ(read.layers.layer_count, 2u);
}

TEST_P(Blocks, TappedRowsAreThoseBehindLayers) {
  for (size_t i = 0; i < block_.taps.size(); ++i) {
    if (!shape_.can_begin(block_.taps[i] + 1) && block_.taps[i] + 1 < shape_.layer_count) continue;
    kv::PageTable table = runner_.NewTable();
    const Slice part = {.layer_end = block_.taps[i] + 1, .embedding = true};
    const Segment segment{.table = &table, .tokens = tokens_};
    const Output output = runner_.forward().Run({&segment, 1}, part).value();
    const size_t streams = shape_.streams.count, embedding = shape_.embedding;
    for (size_t row = 0; row < tokens_.size(); ++row) {
      for (size_t e = 0; e < embedding; ++e) {
        float sum = 0;
        for (size_t s = 0; s < streams; ++s)
          sum += output.hidden[row * shape_.hidden_width() + s * embedding + e];
        ASSERT_EQ(tapped_[row * width() + i * embedding + e], sum / static_cast<float>(streams));
      }
    }
  }
}

TEST_P(Blocks, LayersOfSeveralBackEndsAreTapped) {
  if (!shape_.can_begin(1)) return;
  Weights first =
      LoadWeights(model_.files(), {.layer_end = 1, .embedding = true}, runner_.backend()).value();
  Weights second =
      LoadWeights(model_.files(), {.layer_begin = 1, .layer_end = shape_.layer_count, .head = true},
                  runner_.backend())
          .value();
  Forward forward({{first, runner_.backend()}, {second, runner_.backend()}}, memory_);
  forward.Tap(block_.taps);
  kv::PageTable a = runner_.NewTable(), b = runner_.NewTable();
  const Segment segments[] = {{.table = &a, .tokens = Tokens(0, 40), .wanted = Wanted::kNone},
                              {.table = &b, .tokens = tokens_, .tapped_wanted = Wanted::kAll}};
  const Output output = forward.Run(segments).value();
  EXPECT_TRUE(std::ranges::equal(output.tapped, tapped_));
}

TEST_P(Blocks, AgreeWithTheirDescription) {
  // One length is longer than the window of DeepSeek V4's layers, one is shorter.
  for (const size_t length : {75u, 11u}) {
    kv::PageTable table = NewTable();
    ASSERT_TRUE(Follow(table, 0, length).ok());
    confidences_.clear();
    const auto drafted = Draft(table, length);
    std::vector<double> confidences;
    const auto end = tapped_.begin() + static_cast<ptrdiff_t>(length * width());
    const Rows expected =
        Textbook(model_.files(), file_.files(), block_, memory_)
            .Logits({tapped_.begin(), end}, Tokens(length, block_.block), confidences);
    ASSERT_EQ(drafted.size(), expected.size());
    for (size_t i = 0; i < drafted.size(); ++i) {
      double difference = 0, size = 0;
      for (size_t v = 0; v < expected[i].size(); ++v) {
        difference += std::pow(drafted[i][v] - expected[i][v], 2);
        size += std::pow(expected[i][v], 2);
      }
      EXPECT_LT(std::sqrt(difference / size), 1e-3) << i;
    }
    ASSERT_EQ(confidences_.size(), confidences.size());
    for (size_t i = 0; i < confidences.size(); ++i)
      EXPECT_NEAR(confidences_[i], confidences[i], 2e-3);
  }
}

TEST_P(Blocks, TheSameHoweverRowsCome) {
  kv::PageTable whole = NewTable(), pieces = NewTable();
  ASSERT_TRUE(Follow(whole, 0, 70).ok());
  ASSERT_TRUE(Follow(pieces, 0, 33).ok());
  for (size_t i = 33; i < 70; ++i) {
    ASSERT_TRUE(Follow(pieces, i, 1).ok());
    if (i % 10 == 0) Draft(pieces, i + 1);  // changes nothing
  }
  EXPECT_EQ(whole.length(), 70u);
  EXPECT_EQ(Draft(whole, 70), Draft(pieces, 70));
}

TEST_P(Blocks, ADraftTokenDependsOnAllThatIsKnown) {
  kv::PageTable table = NewTable(), other = NewTable();
  ASSERT_TRUE(Follow(table, 0, 40).ok());
  const auto drafted = Draft(table, 40);
  // Another context gives other draft tokens, and so does another newest token.
  ASSERT_TRUE(Follow(other, 1, 40).ok());
  const auto elsewhere = Draft(other, 40);
  EXPECT_NE(drafted.back(), elsewhere.back());
  const auto behind = Draft(table, 41);
  EXPECT_NE(drafted.back(), behind.back());
}

}  // namespace
}  // namespace aster::model
