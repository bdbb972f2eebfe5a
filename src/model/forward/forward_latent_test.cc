// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// DeepSeek V4 and V4.1: correct results, which are the same however a text is cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/sanitized.h"
#include "kv/transfer.h"
#include "model/families/shape_deepseek41.h"
#include "model/forward/forward.h"
#include "model/forward/runner_for_test.h"
#include "model/reference/reference_deepseek41_for_test.h"
#include "model/reference/reference_deepseek4_for_test.h"

namespace aster::model {
namespace {

using gguf::TensorType;

// Only some of the cases with sanitizers, which are ten times slower: the release tests all.
template <typename T>
std::vector<T> SomeOf(std::vector<T> all, std::vector<T> with_sanitizers) {
  return kSanitized ? std::move(with_sanitizers) : std::move(all);
}

Shape SmallFlash() {
  Shape shape = SmallDeepSeek4({0, 4, 128, 4});
  shape.latent.rope.original_context = 256;  // so that YaRN's ramp is within the pairs
  shape.mtp_layers = 0;
  return shape;
}

// Different numbers everywhere, and no layer without compressed rows.
Shape SmallPro() {
  Shape shape = SmallFlash();
  shape.layer_count = 3;
  shape.embedding = 96;
  shape.head_count = 18;
  shape.head_dim = 96;
  shape.sliding_window = 130;
  shape.experts.count = 7;
  shape.experts.used = 3;
  shape.experts.scale = 2.5f;
  shape.experts.limit = 0.5f;
  shape.experts.hash_layers = 2;
  shape.streams.count = 3;
  shape.streams.sinkhorn = 5;
  shape.latent.ratios = {128, 4, 4};
  shape.latent.query_rank = 64;
  shape.latent.output_groups = 6;
  shape.latent.index_heads = 20;
  shape.latent.index_top = 5;
  shape.mtp_layers = 1;
  return shape;
}

// Wide enough for blocks of 256.
Shape TinyFlash() {
  Shape shape = ShapeOfPreset("flash-shape-tiny").value();
  shape.vocab_size = 300;
  return shape;
}

// Different numbers everywhere. No rows of single tokens, so no blocks of rows; rows are made in
// the first layer, and chosen again after a layer that sees none.
Shape OtherV41() {
  Shape shape = SmallDeepSeek41();
  shape.layer_count = 5;
  shape.embedding = 96;
  shape.head_count = 18;
  shape.head_dim = 96;
  shape.sliding_window = 130;
  shape.experts.count = 7;
  shape.experts.used = 3;
  shape.experts.scale = 2.5f;
  shape.experts.limit = 0.5f;
  shape.streams.count = 3;
  shape.streams.sinkhorn = 5;
  shape.latent.ratios = {2, 2, 0, 2, 2};
  shape.latent.makes_rows = {1, 0, 0, 0, 1};
  shape.latent.chooses_rows = {1, 0, 0, 1, 1};
  shape.latent.block_layer = std::nullopt;
  shape.latent.query_rank = 64;
  shape.latent.output_groups = 6;
  shape.latent.index_heads = 20;
  shape.latent.index_top = 5;
  Ngrams ngrams;
  ngrams.layers = {1, 4};
  ngrams.length = 4;
  ngrams.heads = 3;
  ngrams.dim = 32;
  ngrams.padding = 6;
  shape.ngrams = MakeNgrams(std::move(ngrams), shape.vocab_size, 64);
  return shape;
}

Shape TinyV41() {
  Shape shape = ShapeOfPreset("flash41-shape-tiny").value();
  shape.vocab_size = 300;
  Ngrams ngrams = *shape.ngrams;
  ngrams.classes.resize(shape.vocab_size);
  shape.ngrams = std::make_shared<const Ngrams>(std::move(ngrams));
  return shape;
}

// The rows' errors, relative to the spread of logits, ascending.
std::vector<double> ErrorsOf(std::span<const float> logits, std::span<const double> reference,
                             size_t width) {
  double size = 0;
  for (const double value : reference) size += value * value;
  const double spread = std::sqrt(size / static_cast<double>(reference.size()));
  std::vector<double> errors;
  for (size_t row = 0; row < reference.size(); row += width) {
    double sum = 0;
    for (size_t i = row; i < row + width; ++i)
      sum += (logits[i] - reference[i]) * (logits[i] - reference[i]);
    errors.push_back(std::sqrt(sum / static_cast<double>(width)) / spread);
  }
  std::sort(errors.begin(), errors.end());
  return errors;
}

struct Family {
  std::string name;
  Shape (*small)();
  Shape (*other)();
  Shape (*tiny)();
  std::vector<double> (*reference)(const gguf::ModelFiles& files, const Shape& shape,
                                   const MemoryOptions& memory, std::span<const int32_t> tokens);
  // Hashes of logits, recorded on one machine.
  std::string f32_hash;
  std::string q8_0_hash;
};

const Family kFamilies[] = {
    {"DeepSeek4", SmallFlash, SmallPro, TinyFlash, DeepSeek4ReferenceLogits,
     "59f90ac0069f9671a8de660a56c9877b", "82480c2dc4b3b74fb5789366447c6417"},
    {"DeepSeek41", SmallDeepSeek41, OtherV41, TinyV41, DeepSeek41ReferenceLogits,
     "4469a4c002ee88cb452a1e4c75e304e7", "574a9b90c099cc634013fc88488acef8"},
};

class LatentModel : public testing::TestWithParam<Family> {
 protected:
  Shape Small() const { return GetParam().small(); }
  Shape Other() const { return GetParam().other(); }
};

INSTANTIATE_TEST_SUITE_P(, LatentModel, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return family.param.name; });

TEST_P(LatentModel, AgreesWithItsDescription) {
  for (const Shape& shape : {Small(), Other()}) {
    const ModelFile model(shape, TensorType::kF32);
    const auto tokens = RandomTokens(280, shape.vocab_size);
    for (const bool plain_rows : {false, true}) {
      const MemoryOptions memory = Narrowed({.plain_rows = plain_rows}, shape);
      Runner runner(model.files(), Slice::Whole(shape), 1, kernels::FastestIsa(), memory);
      const auto errors =
          ErrorsOf(runner.Logits(tokens, 70),
                   GetParam().reference(model.files(), shape, memory, tokens), shape.vocab_size);
      // If a row is almost rounded or chosen otherwise, floats may decide otherwise than doubles.
      EXPECT_LT(errors[errors.size() / 2], plain_rows ? 1e-4 : 2e-3) << shape.head_dim;
      EXPECT_LT(errors[errors.size() * 9 / 10], plain_rows ? 1e-3 : 2e-2) << shape.head_dim;
    }
  }
}

TEST_P(LatentModel, ChunksThreadsAndInstructionSetsChangeNothing) {
  for (const Shape& shape : {Small(), Other()}) {
    const ModelFile model(shape, TensorType::kQ8_0);
    const auto tokens = RandomTokens(310, shape.vocab_size);
    const MemoryOptions memory = Narrowed({}, shape);
    Runner whole(model.files(), Slice::Whole(shape), 1, kernels::FastestIsa(), memory);
    const auto expected = whole.Logits(tokens, 310);
    for (const size_t chunk : {1, 7, 128}) EXPECT_EQ(whole.Logits(tokens, chunk), expected);
    const std::vector first(expected.begin(), expected.begin() + 140 * shape.vocab_size);
    for (const size_t threads : {2, 3}) {
      Runner runner(model.files(), Slice::Whole(shape), threads, kernels::FastestIsa(), memory);
      EXPECT_EQ(runner.Logits(tokens, 155), expected) << threads << " threads";
      EXPECT_EQ(runner.Logits(std::span(tokens).first(140), 20), first) << threads << " threads";
    }
    for (const kernels::Isa isa : kernels::AvailableIsas()) {
      Runner runner(model.files(), Slice::Whole(shape), 1, isa, memory);
      EXPECT_EQ(runner.Logits(std::span(tokens).first(140), 70), first) << kernels::IsaName(isa);
    }
  }
}

// Every machine must compute the recorded bits.
TEST_P(LatentModel, TheSameBitsOnEveryMachine) {
  const std::pair<TensorType, std::string> known[] = {
      {TensorType::kF32, GetParam().f32_hash},
      {TensorType::kQ8_0, GetParam().q8_0_hash},
  };
  const Shape shape = Small();
  for (const auto& [type, hash] : known) {
    const ModelFile model(shape, type);
    Runner runner(model.files(), Slice::Whole(shape), 1, kernels::FastestIsa(),
                  Narrowed({}, shape));
    Hasher hasher;
    for (const float logit : runner.Logits(RandomTokens(141, shape.vocab_size), 70))
      hasher.AddValue(logit);
    EXPECT_EQ(hasher.Digest().ToHex(), hash)
        << "if the arithmetic was changed on purpose, write down the new hash";
  }
}

TEST_P(LatentModel, EveryCutIntoSlicesGivesTheSame) {
  const Shape shape = Small();
  const ModelFile model(shape, TensorType::kF16);
  const MemoryOptions memory = Narrowed({}, shape);
  const auto tokens = RandomTokens(200, shape.vocab_size);
  Runner whole(model.files(), Slice::Whole(shape), 1, kernels::FastestIsa(), memory);
  const auto expected = whole.Logits(tokens, 200);
  for (uint32_t cut = 1; cut < shape.layer_count; ++cut) {
    if (!shape.can_begin(cut)) continue;
    Runner lower(model.files(), {.layer_begin = 0, .layer_end = cut, .embedding = true}, 1,
                 kernels::FastestIsa(), memory);
    Runner upper(model.files(), {.layer_begin = cut, .layer_end = shape.layer_count, .head = true},
                 1, kernels::FastestIsa(), memory);
    kv::PageTable below = lower.NewTable(), above = upper.NewTable();
    std::vector<float> logits;
    for (size_t i = 0; i < tokens.size(); i += 50) {
      Segment segment{
          .table = &below, .tokens = std::span(tokens).subspan(i, 50), .wanted = Wanted::kAll};
      const auto hidden = lower.Run({&segment, 1}).value().hidden;
      ASSERT_EQ(hidden.size(), 50 * size_t{shape.hidden_width()});
      segment.table = &above;
      segment.hidden = hidden.data();
      const auto output = upper.Run({&segment, 1}).value().logits;
      logits.insert(logits.end(), output.begin(), output.end());
    }
    EXPECT_EQ(logits, expected) << "cut at " << cut;
  }
}

TEST_P(LatentModel, GoingBackIsAShorterLength) {
  const Shape shape = Small();
  const ModelFile model(shape, TensorType::kQ8_0);
  const MemoryOptions memory = Narrowed({}, shape);
  Runner runner(model.files(), Slice::Whole(shape), 2, kernels::FastestIsa(), memory);
  const auto tokens = RandomTokens(330, shape.vocab_size);
  const auto wrong = RandomTokens(100, shape.vocab_size, 9);
  const auto expected = runner.Logits(tokens, 330);
  const auto run = [&](kv::PageTable& to, std::span<const int32_t> some) {
    const Segment segment{.table = &to, .tokens = some, .wanted = Wanted::kAll};
    const auto logits = runner.Run({&segment, 1}).value().logits;
    return std::vector(logits.begin(), logits.end());
  };
  // At every place within a compressed row, and at the edges of pages.
  for (const uint32_t length :
       SomeOf<uint32_t>({1, 2, 126, 127, 128, 129, 130, 131, 132, 255, 256, 259}, {1, 127, 131})) {
    for (const uint32_t back : SomeOf<uint32_t>({1, 5, 64}, {5, 64})) {
      kv::PageTable table = runner.NewTable();
      run(table, std::span(tokens).first(length));
      run(table, std::span(wrong).first(back));
      ASSERT_EQ(table.Truncate(length), length);
      kv::PageTable fork = table.Fork();
      run(fork, std::span(wrong).first(40));
      const auto logits = run(table, std::span(tokens).subspan(length, 70));
      EXPECT_TRUE(std::equal(logits.begin(), logits.end(),
                             expected.begin() + length * size_t{shape.vocab_size}))
          << back << " back to " << length;
    }
  }
}

// Beyond the slack, rows of windows were freed: the remaining length is shorter than asked for, and
// the tokens between are computed again.
TEST_P(LatentModel, GoingBackFurtherBeginsAtAnEarlierLength) {
  const Shape shape = Small();
  const ModelFile model(shape, TensorType::kQ8_0);
  Runner runner(model.files(), Slice::Whole(shape), 2, kernels::FastestIsa(), Narrowed({}, shape));
  const auto tokens = RandomTokens(620, shape.vocab_size);
  const auto wrong = RandomTokens(330, shape.vocab_size, 9);
  const auto expected = runner.Logits(tokens, 620);
  const auto run = [&](kv::PageTable& to, std::span<const int32_t> some) {
    const Segment segment{.table = &to, .tokens = some, .wanted = Wanted::kAll};
    const auto logits = runner.Run({&segment, 1}).value().logits;
    return std::vector(logits.begin(), logits.end());
  };
  for (const uint32_t length : SomeOf<uint32_t>({131, 300, 517}, {517})) {
    for (const uint32_t back : SomeOf<uint32_t>({65, 100, 330}, {65, 330})) {
      kv::PageTable table = runner.NewTable();
      run(table, std::span(tokens).first(length));
      run(table, std::span(wrong).first(back));
      const uint32_t left = table.Truncate(length);
      ASSERT_LE(left, length);
      const auto logits = run(table, std::span(tokens).subspan(left));
      EXPECT_TRUE(std::equal(logits.begin(), logits.end(),
                             expected.begin() + left * size_t{shape.vocab_size}))
          << back << " back to " << length << ", from " << left;
      EXPECT_EQ(logits.size(), (620 - left) * size_t{shape.vocab_size});
    }
  }
}

// If nothing else needed the memory, freed rows are still there: at most a page is computed again.
TEST_P(LatentModel, GoingBackFurtherFindsAPageBoundary) {
  for (const Shape& shape : SomeOf<Shape>({Small(), Other()}, {Other()})) {
    const ModelFile model(shape, TensorType::kQ8_0);
    Runner runner(model.files(), Slice::Whole(shape), 2, kernels::FastestIsa(),
                  Narrowed({}, shape));
    const auto tokens = RandomTokens(620, shape.vocab_size);
    const auto expected = runner.Logits(tokens, 30);  // all of it is in memory now
    const auto run = [&](kv::PageTable& to, std::span<const int32_t> some) {
      const Segment segment{.table = &to, .tokens = some, .wanted = Wanted::kAll};
      const auto logits = runner.Run({&segment, 1}).value().logits;
      return std::vector(logits.begin(), logits.end());
    };
    for (const uint32_t length : SomeOf<uint32_t>({128, 131, 300, 517}, {300, 517})) {
      kv::PageTable table = runner.NewTable();
      table.Adopt(tokens);
      EXPECT_EQ(table.length(), 512u);
      run(table, std::span(tokens).subspan(512));
      table.Truncate(length);
      table.Adopt(std::span(tokens).first(length));
      const uint32_t left = table.length();
      EXPECT_GE(left, length / 128 * 128);
      const auto logits = run(table, std::span(tokens).subspan(left));
      EXPECT_TRUE(std::equal(logits.begin(), logits.end(),
                             expected.begin() + left * size_t{shape.vocab_size}))
          << "back to " << length << ", from " << left;
      EXPECT_EQ(logits.size(), (620 - left) * size_t{shape.vocab_size});
    }
  }
}

// Rows that are not read any more are not transferred; results from the others are the same, also
// after a truncation.
TEST_P(LatentModel, ATransferredCacheComputesTheSame) {
  const Shape shape = Other();
  const ModelFile model(shape, TensorType::kQ8_0);
  Runner giver(model.files(), Slice::Whole(shape), 2, kernels::FastestIsa(), Narrowed({}, shape));
  const auto tokens = RandomTokens(460, shape.vocab_size);
  const auto expected = giver.Logits(tokens, 460);
  for (const uint32_t length :
       SomeOf<uint32_t>({127, 128, 129, 256, 257, 300, 383}, {128, 129, 383})) {
    kv::PageTable from = giver.NewTable();
    const Segment first{
        .table = &from, .tokens = std::span(tokens).first(length), .wanted = Wanted::kNone};
    ASSERT_TRUE(giver.Run({&first, 1}).ok());
    std::vector<uint8_t> chunk;
    ASSERT_TRUE(kv::Export(from, from.layers(), 0, length, [&](Bytes piece) {
                  chunk.insert(chunk.end(), piece.begin(), piece.end());
                  return Ok();
                }).ok());
    for (const uint32_t back : SomeOf<uint32_t>({0, 1, 5, 64}, {0, 64})) {
      Runner taker(model.files(), Slice::Whole(shape), 2, kernels::FastestIsa(),
                   Narrowed({}, shape));
      kv::PageTable table = taker.NewTable();
      ASSERT_TRUE(kv::Import(table, chunk).ok());
      const uint32_t left = table.Truncate(length - back);
      EXPECT_TRUE(left == length - back || length - back < from.layout().ReachOf(length));
      const Segment rest{
          .table = &table, .tokens = std::span(tokens).subspan(left), .wanted = Wanted::kAll};
      const auto logits = taker.Run({&rest, 1}).value().logits;
      EXPECT_TRUE(std::equal(logits.begin(), logits.end(),
                             expected.begin() + left * size_t{shape.vocab_size}))
          << length << " transferred, " << back << " back, from " << left;
    }
  }
}

// A sequence's first n-gram does not include tokens of the one before it in the batch.
TEST_P(LatentModel, CompanionsInABatchChangeNothing) {
  const Shape shape = GetParam().tiny();
  const ModelFile model(shape, TensorType::kQ4_K);
  const MemoryOptions memory = Narrowed({}, shape);
  Runner runner(model.files(), Slice::Whole(shape), 2, kernels::FastestIsa(), memory);
  constexpr size_t kTokens = kSanitized ? 60 : 180;
  const auto tokens = RandomTokens(kTokens, shape.vocab_size);
  const auto others = RandomTokens(400, shape.vocab_size, 8);
  const auto expected = runner.Logits(tokens, kTokens);
  kv::PageTable mine = runner.NewTable(), theirs = runner.NewTable(), third = runner.NewTable();
  std::vector<float> logits;
  for (size_t i = 0; i < kTokens; i += 30) {
    const Segment segments[] = {
        {.table = &theirs, .tokens = std::span(others).subspan(i, 55), .wanted = Wanted::kNone},
        {.table = &mine, .tokens = std::span(tokens).subspan(i, 30), .wanted = Wanted::kAll},
        {.table = &third, .tokens = std::span(others).subspan(2 * i, 1)}};
    const auto output = runner.Run(segments).value();
    logits.insert(logits.end(), output.logits.begin(),
                  output.logits.begin() + 30 * shape.vocab_size);
  }
  EXPECT_EQ(logits, expected);
}

TEST_P(LatentModel, AnotherMemoryThanItsOwnIsRefused) {
  const Shape shape = Small();
  const auto refused = [&](const MemoryOptions& memory) {
    return !MakeMemoryLayout(shape, Narrowed(memory, shape), Hash128{}).ok();
  };
  EXPECT_FALSE(refused({}));
  EXPECT_FALSE(refused({.plain_rows = true}));
  EXPECT_TRUE(refused({.type = kernels::KvType::kQ8}));
  EXPECT_TRUE(refused({.window = 64}));
  EXPECT_TRUE(refused({.window = 64, .sinks = 4}));
}

// Between a layer that makes rows, or chooses some, and one that uses them.
TEST(DeepSeek41, NoSliceBeginsBehindRowsThatItSees) {
  const Shape shape = SmallDeepSeek41();
  for (const uint32_t layer : {0, 1, 3, 5}) EXPECT_TRUE(shape.can_begin(layer)) << layer;
  for (const uint32_t layer : {2, 4}) EXPECT_FALSE(shape.can_begin(layer)) << layer;
}

// Indices of blocks come with the rows: none may lead outside of the cache.
TEST(DeepSeek41, RowsFromOtherMachinesMayBeAnything) {
  const Shape shape = SmallDeepSeek41();
  const ModelFile model(shape, TensorType::kQ8_0);
  Runner upper(model.files(), {.layer_begin = 5, .layer_end = shape.layer_count, .head = true}, 1,
               kernels::FastestIsa(), Narrowed({}, shape));
  kv::PageTable table = upper.NewTable();
  const auto tokens = RandomTokens(120, shape.vocab_size);
  Random random(5);
  std::vector<float> rows(tokens.size() * shape.hidden_width());
  for (float& number : rows) number = std::bit_cast<float>(random.NextU32());
  const Segment segment{
      .table = &table, .tokens = tokens, .hidden = rows.data(), .wanted = Wanted::kAll};
  const auto output = upper.Run({&segment, 1});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->logits.size(), tokens.size() * shape.vocab_size);
}

}  // namespace
}  // namespace aster::model
