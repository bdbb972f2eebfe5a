// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/forward/forward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/sanitized.h"
#include "model/files/support.h"
#include "model/forward/runner_for_test.h"
#include "model/layers/rope_spec.h"
#include "model/reference/reference_for_test.h"

namespace aster::model {
namespace {

using gguf::TensorType;

constexpr Arch kArchs[] = {Arch::kLlama,    Arch::kMistral3,  Arch::kQwen2,     Arch::kQwen3,
                           Arch::kQwen3Moe, Arch::kGemma3,    Arch::kPhi3,      Arch::kGptOss,
                           Arch::kGlm4Moe,  Arch::kMiniMaxM2, Arch::kDeepSeek2, Arch::kDeepSeek32,
                           Arch::kGlmDsa,   Arch::kMimo2,     Arch::kGemma2,    Arch::kGemma4};

// Uses all experts, as f16 may lead to another choice.
void UseAllExperts(Shape& shape) {
  shape.experts.used = shape.experts.count;
  shape.experts.groups = shape.experts.used_groups = 1;
}

// Root mean square of the difference, relative to that of the reference.
double RelativeError(std::span<const float> logits, std::span<const double> reference) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    difference += (logits[i] - reference[i]) * (logits[i] - reference[i]);
    size += reference[i] * reference[i];
  }
  return std::sqrt(difference / size);
}

TEST(Forward, AgreesWithTheTextbook) {
  std::vector<Shape> shapes;
  for (const Arch arch : kArchs) shapes.push_back(SmallShape(arch));
  for (const Arch arch : {Arch::kMimo2, Arch::kDeepSeek2}) {
    shapes.push_back(SmallShape(arch));
    shapes.back().kinds.fused = true;
  }
  for (const Arch arch : {Arch::kQwen3Moe, Arch::kDeepSeek2}) {
    shapes.push_back(SmallShape(arch));
    shapes.back().experts.fused = true;
  }
  for (Shape& shape : shapes) {
    const Arch arch = shape.arch;
    // f16 may decide which rows an index chooses (another test compares that), and which experts
    // its small model uses.
    if (HasDsa(arch)) UseAllExperts(shape);
    shape.index.top = 40;
    const ModelFile model(shape, TensorType::kF32);
    // A window in all layers is an option of the cache.
    Runner runner(model.files(), Slice::Whole(shape), 1, kernels::FastestIsa(),
                  Narrowed({}, shape));
    const auto tokens = RandomTokens(40, shape.vocab_size);
    const auto logits = runner.Logits(tokens, 16);
    const auto reference = ReferenceLogits(model.files(), shape, tokens);
    ASSERT_EQ(logits.size(), reference.size());
    // Keys and values are f16; in MLA one row is both for all heads, and its scores are larger.
    EXPECT_LT(RelativeError(logits, reference), shape.is_mla() ? 3e-3 : 1e-3) << ArchName(arch);
  }
}

TEST(Forward, QuantisedWeightsStayNearTheTextbook) {
  const Shape shape = SmallShape(Arch::kLlama);
  for (const TensorType type :
       {TensorType::kF16, TensorType::kBF16, TensorType::kQ8_0, TensorType::kQ4_0,
        TensorType::kQ4_K, TensorType::kQ5_K, TensorType::kQ6_K, TensorType::kQ2_K,
        TensorType::kIQ2_XXS, TensorType::kMXFP4}) {
    const ModelFile model(shape, type);
    Runner runner(model.files(), Slice::Whole(shape));
    const auto tokens = RandomTokens(12, shape.vocab_size);
    // Only the activations' 8 bits differ: the reference has the same weights.
    EXPECT_LT(
        RelativeError(runner.Logits(tokens, 12), ReferenceLogits(model.files(), shape, tokens)),
        0.03)
        << gguf::TensorTypeName(type);
  }
}

TEST(Forward, ChunksThreadsAndInstructionSetsChangeNothing) {
  // With sanitizers only enough to reach every access: the release build compares.
  const auto chunks = kSanitized ? std::vector<size_t>{7} : std::vector<size_t>{1, 7, 128};
  const auto thread_counts = kSanitized ? std::vector<size_t>{3} : std::vector<size_t>{2, 3};
  for (const Arch arch : kArchs) {
    const Shape shape = SmallShape(arch);
    const ModelFile model(shape, TensorType::kQ4_K);
    const auto tokens = RandomTokens(kSanitized ? 140 : 300, shape.vocab_size);
    Runner whole(model.files(), Slice::Whole(shape));
    const auto expected = whole.Logits(tokens, tokens.size());
    for (const size_t chunk : chunks)
      EXPECT_EQ(whole.Logits(tokens, chunk), expected) << ArchName(arch) << chunk;
    for (const size_t threads : thread_counts) {
      Runner runner(model.files(), Slice::Whole(shape), threads);
      EXPECT_EQ(runner.Logits(tokens, 100), expected)
          << ArchName(arch) << " on " << threads << " threads";
    }
    const size_t few = kSanitized ? 5 : 40;
    Runner plain(model.files(), Slice::Whole(shape), 1, kernels::Isa::kRef);
    const std::vector<float> logits = plain.Logits(std::span(tokens).first(few), few);
    EXPECT_TRUE(std::ranges::equal(logits, std::span(expected).first(logits.size())))
        << ArchName(arch);
  }
}

TEST(Forward, LongPastsAreSharedOutAmongThreads) {
  Shape shape = SmallShape(Arch::kQwen3);
  shape.kv_head_count = 1;
  shape.layer_count = 1;
  const ModelFile model(shape, TensorType::kQ8_0);
  const auto tokens = RandomTokens(2000, shape.vocab_size);
  Runner one(model.files(), Slice::Whole(shape), 1);
  Runner four(model.files(), Slice::Whole(shape), 4);
  kv::PageTable first = one.NewTable(), second = four.NewTable();
  for (const auto& [runner, table] : {std::pair(&one, &first), std::pair(&four, &second)}) {
    const Segment segment{
        .table = table, .tokens = std::span(tokens).first(1999), .wanted = Wanted::kNone};
    ASSERT_TRUE(runner->Run({&segment, 1}).ok());
  }
  const Segment a{.table = &first, .tokens = std::span(tokens).last(1)};
  const Segment b{.table = &second, .tokens = std::span(tokens).last(1)};
  const auto expected = one.Run({&a, 1}).value().logits;
  const auto actual = four.Run({&b, 1}).value().logits;
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), actual.begin(), actual.end()));
}

TEST(Forward, CompanionsInABatchChangeNothing) {
  for (const Arch arch : EveryArch()) {
    const Shape shape = SmallShape(arch);
    const ModelFile model(shape, TensorType::kQ8_0);
    Runner runner(model.files(), Slice::Whole(shape), 2, kernels::FastestIsa(),
                  Narrowed({}, shape));
    const auto tokens = RandomTokens(90, shape.vocab_size);
    const auto strangers = RandomTokens(300, shape.vocab_size, 8);
    const auto expected = runner.Logits(tokens, 90);
    kv::PageTable mine = runner.NewTable(), theirs = runner.NewTable(), third = runner.NewTable();
    std::vector<float> logits;
    for (size_t i = 0; i < 90; i += 30) {
      const Segment segments[] = {
          {.table = &theirs,
           .tokens = std::span(strangers).subspan(i, 55),
           .wanted = Wanted::kNone},
          {.table = &mine, .tokens = std::span(tokens).subspan(i, 30), .wanted = Wanted::kAll},
          {.table = &third,
           .tokens = std::span(strangers).subspan(2 * i, 1),
           .wanted = Wanted::kLast}};
      const auto output = runner.Run(segments).value();
      ASSERT_EQ(output.logits.size(), 31u * shape.vocab_size);
      logits.insert(logits.end(), output.logits.begin(),
                    output.logits.begin() + 30 * shape.vocab_size);
    }
    EXPECT_EQ(logits, expected) << ArchName(arch);
  }
}

TEST(Forward, EveryCutIntoSlicesGivesTheSame) {
  const Shape shape = SmallShape(Arch::kQwen3);
  const ModelFile model(shape, TensorType::kQ4_0);
  const auto tokens = RandomTokens(150, shape.vocab_size);
  Runner whole(model.files(), Slice::Whole(shape));
  const auto expected = whole.Logits(tokens, 150);
  for (uint32_t cut = 1; cut < shape.layer_count; ++cut) {
    Runner lower(model.files(), {.layer_begin = 0, .layer_end = cut, .embedding = true});
    Runner upper(model.files(), {.layer_begin = cut, .layer_end = shape.layer_count, .head = true});
    kv::PageTable below = lower.NewTable(), above = upper.NewTable();
    std::vector<float> logits;
    for (size_t i = 0; i < tokens.size(); i += 50) {
      Segment segment{
          .table = &below, .tokens = std::span(tokens).subspan(i, 50), .wanted = Wanted::kAll};
      const auto hidden = lower.Run({&segment, 1}).value().hidden;
      segment.table = &above;
      segment.hidden = hidden.data();
      const auto output = upper.Run({&segment, 1}).value().logits;
      logits.insert(logits.end(), output.begin(), output.end());
    }
    EXPECT_EQ(logits, expected) << "cut at " << cut;
  }
}

// A slice with the head gives only the wanted hidden rows, one after the other.
TEST(Forward, HiddenRowsAreThoseThatAreAskedFor) {
  const Shape shape = SmallShape(Arch::kLlama);
  const ModelFile model(shape, TensorType::kQ8_0);
  Runner runner(model.files(), Slice::Whole(shape));
  const auto tokens = RandomTokens(24, shape.vocab_size);
  const size_t width = shape.hidden_width();
  const auto hidden = [&](Wanted first, Wanted second) {
    kv::PageTable one = runner.NewTable(), other = runner.NewTable();
    const Segment segments[] = {
        {.table = &one, .tokens = std::span(tokens).first(10), .hidden_wanted = first},
        {.table = &other, .tokens = std::span(tokens).subspan(10), .hidden_wanted = second}};
    const Output output = runner.Run(segments).value();
    return std::vector<float>(output.hidden.begin(), output.hidden.end());
  };
  const std::vector<float> all = hidden(Wanted::kAll, Wanted::kAll);
  ASSERT_EQ(all.size(), 24 * width);
  EXPECT_TRUE(hidden(Wanted::kNone, Wanted::kNone).empty());
  EXPECT_EQ(hidden(Wanted::kNone, Wanted::kLast),
            std::vector<float>(all.end() - static_cast<ptrdiff_t>(width), all.end()));
  std::vector<float> last_and_all(all.begin() + static_cast<ptrdiff_t>(9 * width), all.end());
  EXPECT_EQ(hidden(Wanted::kLast, Wanted::kAll), last_and_all);
}

// Only wanted rows go through the last layer's feed-forward network.
TEST(Forward, RowsThatNothingAsksForEndWithTheirKeysAndValues) {
  std::vector<Shape> shapes = {SmallDeepSeek4({0, 4, 128}), SmallShape(Arch::kQwen3Next)};
  for (const Arch arch : kArchs) shapes.push_back(SmallShape(arch));
  for (const Shape& shape : shapes) {
    const ModelFile model(shape, TensorType::kQ8_0);
    const MemoryOptions memory = Narrowed({}, shape);
    Runner runner(model.files(), Slice::Whole(shape), 1, kernels::FastestIsa(), memory);
    const size_t used = shape.experts.used;
    ExpertUse use(shape.layer_count, std::max(shape.experts.count, 1u));
    Forward counting({{runner.weights(), runner.backend(), &use}}, memory);
    const auto tokens = RandomTokens(30, shape.vocab_size);
    const auto logits_of = [&](std::span<const Wanted> wanted) {
      kv::PageTable tables[] = {runner.NewTable(), runner.NewTable(), runner.NewTable()};
      std::vector<Segment> segments;
      for (size_t i = 0; i < 3; ++i) {
        segments.push_back({.table = &tables[i],
                            .tokens = std::span(tokens).subspan(10 * i, 10),
                            .wanted = wanted[i]});
      }
      const Output output = counting.Run(segments).value();
      return std::vector<float>(output.logits.begin(), output.logits.end());
    };
    const std::vector<float> all = logits_of(std::vector(3, Wanted::kAll));
    const uint64_t before = use.choices();
    const std::vector<float> some = logits_of({{Wanted::kNone, Wanted::kLast, Wanted::kAll}});
    const auto first = all.begin() + static_cast<ptrdiff_t>(19 * shape.vocab_size);
    EXPECT_EQ(some, std::vector<float>(first, all.end())) << ArchName(shape.arch);
    EXPECT_TRUE(logits_of(std::vector(3, Wanted::kNone)).empty());
    // All rows are computed twice; in the last layer 11 of the first run and none of the second.
    const uint64_t layers = shape.layer_count - shape.experts.dense_layers;
    const uint64_t expected = shape.experts.count == 0 ? 0 : (60 * (layers - 1) + 11) * used;
    EXPECT_EQ(use.choices() - before, expected) << ArchName(shape.arch);
    // Later tokens see the rows that were not wanted.
    kv::PageTable table = runner.NewTable();
    Segment segment{.table = &table, .tokens = std::span(tokens).first(9)};
    ASSERT_TRUE(counting.Run({&segment, 1}).ok());
    segment = {.table = &table, .tokens = std::span(tokens).subspan(9, 1), .wanted = Wanted::kAll};
    const Output last = counting.Run({&segment, 1}).value();
    const auto ninth = all.begin() + static_cast<ptrdiff_t>(9 * shape.vocab_size);
    EXPECT_EQ(std::vector<float>(last.logits.begin(), last.logits.end()),
              std::vector<float>(ninth, ninth + shape.vocab_size));
  }
}

TEST(Forward, GoingBackAndForkingChangeNothing) {
  const Shape shape = SmallShape(Arch::kLlama);
  const ModelFile model(shape, TensorType::kQ4_K);
  Runner runner(model.files(), Slice::Whole(shape));
  const auto tokens = RandomTokens(200, shape.vocab_size);
  const auto wrong = RandomTokens(200, shape.vocab_size, 9);
  const auto expected = runner.Logits(tokens, 200);
  kv::PageTable table = runner.NewTable();
  const auto run = [&](kv::PageTable& to, std::span<const int32_t> some) {
    const Segment segment{.table = &to, .tokens = some, .wanted = Wanted::kAll};
    const auto logits = runner.Run({&segment, 1}).value().logits;
    return std::vector(logits.begin(), logits.end());
  };
  run(table, std::span(tokens).first(140));
  run(table, std::span(wrong).first(60));
  EXPECT_EQ(table.Truncate(130), 130u);
  kv::PageTable fork = table.Fork();
  run(fork, std::span(wrong).first(40));
  const std::vector<float> last(expected.begin() + 130 * shape.vocab_size, expected.end());
  EXPECT_EQ(run(table, std::span(tokens).subspan(130)), last);
}

TEST(Forward, AWindowWithSinksSeesTheSameHoweverItIsCut) {
  const Shape shape = SmallShape(Arch::kLlama);
  const ModelFile model(shape, TensorType::kQ8_0);
  const MemoryOptions memory{.window = 200, .sinks = 4};
  Runner runner(model.files(), Slice::Whole(shape), 1, kernels::FastestIsa(), memory);
  const auto tokens = RandomTokens(700, shape.vocab_size);
  const auto expected = runner.Logits(tokens, 700);
  EXPECT_EQ(runner.Logits(tokens, 1), expected);
  EXPECT_EQ(runner.Logits(tokens, 77), expected);
  Runner all(model.files(), Slice::Whole(shape));
  const auto unbounded = all.Logits(tokens, 700);
  const size_t within = 200 * size_t{shape.vocab_size};
  EXPECT_TRUE(std::equal(expected.begin(), expected.begin() + within, unbounded.begin()));
  EXPECT_NE(expected, unbounded);
}

// In gpt-oss the option's window and sinks apply only to layers without a window of their own.
TEST(Forward, AWindowOfTheCacheIsThatOfLayersWithoutOne) {
  const Shape shape = SmallShape(Arch::kGptOss);
  const ModelFile model(shape, TensorType::kMXFP4);
  const auto tokens = RandomTokens(400, shape.vocab_size);
  const auto logits = [&](const MemoryOptions& memory, size_t chunk) {
    Runner runner(model.files(), Slice::Whole(shape), 1, kernels::FastestIsa(), memory);
    return runner.Logits(tokens, chunk);
  };
  const auto unbounded = logits({}, 400);
  const auto bounded = logits({.window = 200, .sinks = 4}, 400);
  EXPECT_EQ(logits({.window = 200, .sinks = 4}, 33), bounded);
  const size_t within = 200 * size_t{shape.vocab_size};
  EXPECT_TRUE(std::equal(bounded.begin(), bounded.begin() + within, unbounded.begin()));
  EXPECT_NE(bounded, unbounded);
  EXPECT_EQ(MemoryOfLayer({.window = 200, .sinks = 4}, shape, 0).window, 24u);
  EXPECT_EQ(MemoryOfLayer({.window = 200, .sinks = 4}, shape, 0).sinks, 0u);
  EXPECT_EQ(MemoryOfLayer({.window = 200, .sinks = 4}, shape, 1).window, 200u);
  EXPECT_EQ(MemoryOfLayer({}, shape, 1).window, 0u);
}

// Rewinds to the end of a window; the rest is computed again in other pieces.
TEST(Forward, LayersOfTwoKindsGoBackAlike) {
  for (const Arch arch : {Arch::kGemma3, Arch::kGemma4}) {
    const Shape shape = SmallShape(arch);
    const ModelFile model(shape, TensorType::kQ4_0);
    Runner runner(model.files(), Slice::Whole(shape));
    const auto tokens = RandomTokens(300, shape.vocab_size);
    const auto expected = runner.Logits(tokens, 300);
    kv::PageTable table = runner.NewTable();
    const auto run = [&](size_t begin, size_t end) {
      const Segment segment{.table = &table,
                            .tokens = std::span(tokens).subspan(begin, end - begin),
                            .wanted = Wanted::kAll};
      const auto logits = runner.Run({&segment, 1}).value().logits;
      return std::ranges::equal(
          logits, std::span(expected).subspan(begin * shape.vocab_size, logits.size()));
    };
    EXPECT_TRUE(run(0, 260));
    EXPECT_EQ(table.Truncate(220), 220u);
    EXPECT_TRUE(run(220, 223));
    EXPECT_TRUE(run(223, 300));
  }
}

// Factors of scores, embeddings and logits: without one the logits differ.
TEST(Forward, FactorsOfGemma3Count) {
  const Shape shape = SmallShape(Arch::kGemma3);
  const auto tokens = RandomTokens(40, shape.vocab_size);
  const auto logits = [&](const Shape& of) {
    const ModelFile model(of, TensorType::kF32);
    return Runner(model.files(), Slice::Whole(of)).Logits(tokens, 40);
  };
  const auto all = logits(shape);
  EXPECT_LT(*std::ranges::max_element(all), shape.logit_cap);
  Shape other = shape;
  other.attention_scale = 0.125f;
  EXPECT_NE(logits(other), all);
  other = shape;
  other.logit_cap = 0.0f;
  const auto uncapped = logits(other);
  EXPECT_GT(*std::ranges::max_element(uncapped), shape.logit_cap);
  other = shape;
  other.window_rope.base = 20000.0f;
  EXPECT_NE(logits(other), all);
  EXPECT_EQ(EmbeddingScaleOf(shape), 16.0f);
  EXPECT_EQ(EmbeddingScaleOf(ShapeOfPreset("gemma3-12b").value()), 62.0f);
}

// Queries grow at every multiple of the original context, and not before the first.
TEST(Forward, QueriesOfMistral3GrowWithTheirPosition) {
  const Shape shape = SmallShape(Arch::kMistral3);
  EXPECT_EQ(QueryFactorAt(shape, 15), 1.0);
  EXPECT_NEAR(QueryFactorAt(shape, 16), 1.0 + 0.3 * std::log(2.0), 1e-7);
  EXPECT_EQ(QueryFactorAt(shape, 31), QueryFactorAt(shape, 16));
  EXPECT_NEAR(QueryFactorAt(shape, 50), 1.0 + 0.3 * std::log(4.0), 1e-7);
  Shape even = shape;
  even.temperature = 0.0f;
  const auto tokens = RandomTokens(17, shape.vocab_size);
  const auto logits = [&](const Shape& of) {
    const ModelFile model(of, TensorType::kF32);
    return Runner(model.files(), Slice::Whole(of)).Logits(tokens, 17);
  };
  const auto all = logits(shape), without = logits(even);
  const auto first = 16 * static_cast<ptrdiff_t>(shape.vocab_size);
  EXPECT_TRUE(std::equal(all.begin(), all.begin() + first, without.begin()));
  EXPECT_FALSE(std::equal(all.begin() + first, all.end(), without.begin() + first));
}

// If trained for longer texts, it uses the long table from the first position on.
TEST(Forward, APhi3ForLongTextsTurnsByTheirTable) {
  Shape shape = SmallShape(Arch::kPhi3);
  const auto tokens = RandomTokens(20, shape.vocab_size);
  const auto logits = [&](const Shape& of) {
    const ModelFile model(of, TensorType::kF32);
    const auto found = Runner(model.files(), Slice::Whole(of)).Logits(tokens, 20);
    EXPECT_LT(RelativeError(found, ReferenceLogits(model.files(), of, tokens)), 1e-3);
    return found;
  };
  const auto of_short = logits(shape);
  shape.context_length = 131072;
  EXPECT_NE(logits(shape), of_short);
}

// DeepSeek V2 Lite: no low rank of queries, no normalised softmax shares, two shared experts.
TEST(Forward, ADeepSeek2OfAnotherKindAgreesWithTheTextbook) {
  Shape shape = SmallShape(Arch::kDeepSeek2);
  const auto tokens = RandomTokens(30, shape.vocab_size);
  const auto expect_truth = [&](const Shape& of) {
    const ModelFile model(of, TensorType::kF32);
    EXPECT_EQ(CheckSupport(model.files()).shape->experts.choice_bias, of.experts.choice_bias);
    const auto found = Runner(model.files(), Slice::Whole(of)).Logits(tokens, 30);
    EXPECT_LT(RelativeError(found, ReferenceLogits(model.files(), of, tokens)), 3e-3);
  };
  shape.experts.score = kernels::RouterScore::kSoftmax;
  shape.experts.normalized = false;
  shape.experts.choice_bias = false;
  shape.experts.scale = 16.0f;
  shape.experts.shared = 2;
  shape.mla.query_rank = 0;
  expect_truth(shape);
  // V2: groups are ranked by one expert, not two.
  shape.experts.groups = 2;
  shape.experts.used_groups = 1;
  expect_truth(shape);
  // GLM 4.7 Flash: RoPE is not scaled.
  shape = SmallShape(Arch::kDeepSeek2);
  shape.rope = {.base = 1000000.0f, .dimensions = 32};
  // All experts: with these weights two have nearly the same score, so that f16 would choose.
  UseAllExperts(shape);
  expect_truth(shape);
}

// Most rows must agree with the reference. The others are those for which the index ranks rows so
// alike that f16 decides between them, and the rows after such a one.
void ExpectTheTextbooksChoice(Arch arch) {
  Shape shape = SmallShape(arch);
  UseAllExperts(shape);
  const ModelFile model(shape, TensorType::kF32);
  const auto tokens = RandomTokens(40, shape.vocab_size);
  const auto logits = Runner(model.files(), Slice::Whole(shape)).Logits(tokens, 40);
  const auto reference = ReferenceLogits(model.files(), shape, tokens);
  Shape all = shape;
  all.index.top = 40;
  const auto unchosen = ReferenceLogits(model.files(), all, tokens);
  size_t near = 0, far_from_all = 0;
  for (size_t row = 0; row < tokens.size(); ++row) {
    const size_t first = row * shape.vocab_size;
    const auto error = [&](const std::vector<double>& truth) {
      return RelativeError(std::span(logits).subspan(first, shape.vocab_size),
                           std::span(truth).subspan(first, shape.vocab_size));
    };
    EXPECT_LT(row < shape.index.top ? error(unchosen) : 0.0, 3e-3) << row;
    near += error(reference) < 5e-3 ? 1 : 0;
    far_from_all += error(unchosen) > 0.05 ? 1 : 0;
  }
  EXPECT_GE(near, 30u);
  EXPECT_GE(far_from_all, 20u);
}

TEST(Forward, AnIndexChoosesAsTheTextbookDoes) {
  ExpectTheTextbooksChoice(Arch::kGlmDsa);
  ExpectTheTextbooksChoice(Arch::kDeepSeek32);
}

// Some models of GLM have no norms of queries and keys.
TEST(Forward, AGlmWithoutHeadNormsAgreesWithTheTextbook) {
  Shape shape = SmallShape(Arch::kGlm4Moe);
  const auto tokens = RandomTokens(30, shape.vocab_size);
  const auto logits = [&](const Shape& of) {
    const ModelFile model(of, TensorType::kF32);
    EXPECT_EQ(CheckSupport(model.files()).shape->head_norms, of.head_norms);
    const auto found = Runner(model.files(), Slice::Whole(of)).Logits(tokens, 30);
    EXPECT_LT(RelativeError(found, ReferenceLogits(model.files(), of, tokens)), 1e-3);
    return found;
  };
  const auto with = logits(shape);
  shape.head_norms = false;
  EXPECT_NE(logits(shape), with);
  shape.experts.dense_layers = 2;
  shape.experts.scale = 1.0f;
  logits(shape);
}

// If scores are multiplied with YaRN's magnitude, cosines and sines are not.
TEST(Forward, OfYarnsMagnitudeALogMultiplierTakesItsPart) {
  Rope rope = SmallShape(Arch::kMistral3).rope;
  EXPECT_EQ(RopeMagnitudeOf(rope), 1.0);
  rope.log_multiplier = 0.0f;
  EXPECT_NEAR(RopeMagnitudeOf(rope), 1.0 + 0.1 * std::log(16.0), 1e-12);
  rope.log_multiplier = 0.5f;
  EXPECT_NEAR(RopeMagnitudeOf(rope), (1.0 + 0.1 * std::log(16.0)) / (1.0 + 0.05 * std::log(16.0)),
              1e-12);
}

TEST(Forward, TokensThatAreNoneAreRefused) {
  const Shape shape = SmallShape(Arch::kLlama);
  const ModelFile model(shape, TensorType::kQ8_0);
  Runner runner(model.files(), Slice::Whole(shape));
  kv::PageTable table = runner.NewTable();
  for (const int32_t token : {-1, 300}) {
    const Segment segment{.table = &table, .tokens = {&token, 1}};
    EXPECT_FALSE(runner.Run({&segment, 1}).ok());
  }
  EXPECT_EQ(table.length(), 0u);
}

// Jobs of different sequences, begun in one order and finished in another: each has the same output
// as alone, and keeps it while the others exist.
TEST(Forward, SeveralJobsMayBeInFlight) {
  const Shape shape = SmallShape(Arch::kQwen3Moe);
  const ModelFile model(shape, TensorType::kQ8_0);
  Runner runner(model.files(), Slice::Whole(shape));
  const auto tokens = RandomTokens(90, shape.vocab_size);
  const std::vector<float> expected = runner.Logits(tokens, 90);

  std::vector<kv::PageTable> tables;
  for (int i = 0; i < 3; ++i) tables.push_back(runner.NewTable());
  std::vector<ForwardJob> jobs;
  for (int i = 0; i < 3; ++i) {
    // The caller's tokens are destroyed before the job computes.
    const std::vector<int32_t> own(tokens.begin(), tokens.begin() + 30 * (i + 1));
    const Segment segment{.table = &tables[i], .tokens = own, .wanted = Wanted::kAll};
    jobs.push_back(runner.forward().Begin({&segment, 1}).value());
  }
  for (const int i : {2, 0, 1}) {
    EXPECT_EQ(tables[i].length(), 0U);
    EXPECT_EQ(jobs[i].Advance().value(), Progress::kDone);
    EXPECT_EQ(tables[i].length(), 30U * (i + 1));
  }
  for (int i = 0; i < 3; ++i) {
    const auto logits = jobs[i].output().logits;
    ASSERT_EQ(logits.size(), size_t{30} * (i + 1) * shape.vocab_size);
    EXPECT_TRUE(std::ranges::equal(logits, std::span(expected).first(logits.size()))) << i;
  }
}

TEST(Forward, AJobThatIsDroppedChangesNothing) {
  const Shape shape = SmallShape(Arch::kLlama);
  const ModelFile model(shape, TensorType::kQ8_0);
  Runner runner(model.files(), Slice::Whole(shape));
  const auto tokens = RandomTokens(140, shape.vocab_size);
  kv::PageTable table = runner.NewTable();
  const Segment segment{.table = &table, .tokens = tokens, .wanted = Wanted::kAll};
  {
    const ForwardJob job = runner.forward().Begin({&segment, 1}).value();
  }
  EXPECT_EQ(table.length(), 0U);
  const std::vector<float> expected = runner.Logits(tokens, 70);
  EXPECT_TRUE(std::ranges::equal(runner.Run({&segment, 1}).value().logits, expected));
}

}  // namespace
}  // namespace aster::model
